/**
 * A bar from 0 to `median`, with a thin line from the lower to the upper quartile. Without a median, no bar is drawn.
 */
type Bar = { label: string; isOurs: boolean; lowerQuartile?: number; median?: number; upperQuartile?: number };

/** One of several charts side by side. The labels come from the first, so all need the same bars in the same order. */
type Panel = { title: string; bars: Bar[] };

const [labelWidth, width, rowHeight, top] = [180, 200, 22, 30];

const drawPanel = ({ title, bars }: Panel, index: number): string => {
  const maximum = Math.max(...bars.map(({ upperQuartile = 0 }) => upperQuartile));
  // Keep 50 units free at the right for the number beside the longest bar.
  const x = (value: number): number => ((width - 50) * value) / maximum;
  const bottom = top + bars.length * rowHeight;
  const rows = bars.map(({ isOurs, lowerQuartile = 0, median, upperQuartile = 0 }, row) => {
    if (median === undefined) return '';
    const y = top + row * rowHeight;
    const colour = isOurs ? '#1b6e3c' : '#9aa7b0';
    return [
      `<rect x="0" y="${y}" width="${x(median)}" height="14" fill="${colour}"/>`,
      `<path d="M${x(lowerQuartile)},${y + 7}H${x(upperQuartile)}" stroke="black"/>`,
      // The white outline keeps the number readable if the dashed line crosses it.
      `<text x="${x(upperQuartile) + 5}" y="${y + 11}" stroke="white" stroke-width="4" paint-order="stroke">${median.toFixed(2)}</text>`,
    ].join('');
  });
  return [
    `<g transform="translate(${labelWidth + index * width},0)">`,
    `<text x="0" y="18" font-weight="bold">${title}</text>`,
    `<path d="M${x(1)},${top - 4}V${bottom}" stroke="#b3541e" stroke-dasharray="3"/>`,
    ...rows,
    '</g>',
  ].join('\n');
};

/** Draws the panels side by side as an SVG document. In each panel, a dashed line marks the value 1. */
export const bars = (title: string, panels: Panel[]): string => {
  const labels = panels[0]?.bars.map(({ label }) => label) ?? [];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${labelWidth + panels.length * width} ${top + labels.length * rowHeight + 8}" font-family="sans-serif" font-size="11">`,
    `<title>${title}</title>`,
    '<rect width="100%" height="100%" fill="white"/>',
    ...labels.map((label, row) => `<text x="8" y="${top + row * rowHeight + 11}">${label}</text>`),
    ...panels.map(drawPanel),
    '</svg>\n',
  ].join('\n');
};
