/** One line of a chart panel. `values` has one value for each position on the panel's x axis. */
type Line = { label: string; values: number[] };

/**
 * A panel of the chart. `at` has the x value of each point (the x axis is logarithmic), `along` is the label of the x
 * axis, and `unit` is the unit of the y values.
 */
export type Panel = { title: string; along: string; unit: string; at: number[]; lines: Line[] };

const [width, height] = [360, 230];
const [left, right, top, bottom] = [20, 70, 44, 50];
const colours = ['#1b6e3c', '#b3541e'];

const formatted = (value: number): string => (value < 10 ? value.toFixed(1) : String(Math.round(value)));

const drawPanel = ({ title, along, unit, at, lines }: Panel, index: number): string => {
  const maximum = Math.max(...lines.flatMap(({ values }) => values));
  const [first = 1, last = 1] = [at[0], at.at(-1)];
  const x = (position: number): number =>
    left + 12 + ((width - left - right) * Math.log(position / first)) / Math.log(last / first);
  const y = (value: number): number => height - bottom - ((height - top - bottom) * value) / maximum;
  const floor = height - bottom;
  const drawnLines = lines.map(({ label, values }, which) => {
    const colour = colours[which];
    const points = values.map((value, position) => [x(at[position] ?? first), y(value), value] as const);
    const [endX = 0, endY = 0] = points.at(-1) ?? [];
    return [
      `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${points.map(([px, py]) => `${px},${py}`).join(' ')}"/>`,
      ...points.map(
        ([px, py, value]) =>
          `<circle cx="${px}" cy="${py}" r="3" fill="${colour}"/>` +
          // Put the lower line's labels below that line, so that they do not overlap the upper line.
          `<text x="${px}" y="${which < lines.length - 1 ? py + 15 : py - 7}" text-anchor="middle" fill="${colour}">${formatted(value)}</text>`,
      ),
      `<text x="${endX + 8}" y="${endY + 4}" fill="${colour}">${label}</text>`,
    ].join('\n');
  });
  return [
    `<g transform="translate(${(index % 2) * width},${Math.floor(index / 2) * height})">`,
    `<text x="${left}" y="18" font-weight="bold">${title}, ${unit}</text>`,
    `<line x1="${left}" y1="${floor}" x2="${width - right + 12}" y2="${floor}" stroke="#999"/>`,
    ...at.map(
      (position) =>
        `<text x="${x(position)}" y="${floor + 30}" text-anchor="middle" fill="#555">${position.toLocaleString('en')}</text>`,
    ),
    `<text x="${left}" y="${floor + 45}" fill="#555">${along}</text>`,
    ...drawnLines,
    '</g>',
  ].join('\n');
};

/** Draws the panels, two per row, as an SVG document. Every y axis starts at 0. */
export const plot = (title: string, panels: Panel[]): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * width} ${Math.ceil(panels.length / 2) * height}" font-family="sans-serif" font-size="11">`,
    `<title>${title}</title>`,
    '<rect width="100%" height="100%" fill="white"/>',
    ...panels.map(drawPanel),
    '</svg>\n',
  ].join('\n');
