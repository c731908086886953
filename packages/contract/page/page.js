/** Sends the requests of the page at /docs, and shows them as curl and TypeScript. */
const token = document.querySelector('.token input');
/** The token that the local service has filled in. After its last second, or a restart, the service refuses it. */
let issued = token.value;

/** Returns the parameters of a form that have a value: each with its place, its type and its texts. */
const parametersOf = (form) =>
  [...form.querySelectorAll('[data-in]')]
    .filter(({ value }) => value !== '')
    .map(({ value, tagName, dataset }) => ({
      name: dataset.name,
      place: dataset.in,
      type: dataset.type,
      isList: tagName === 'TEXTAREA',
      texts: tagName === 'TEXTAREA' ? value.split('\n') : [value],
    }));

const requestOf = (form) => {
  const parameters = parametersOf(form);
  const at = (place) =>
    parameters.filter((each) => each.place === place).flatMap(({ name, texts }) => texts.map((text) => [name, text]));
  const values = Object.fromEntries(at('path'));
  const path = form.dataset.path.replaceAll(/\{(.*?)\}/g, (_, name) => encodeURIComponent(values[name] ?? ''));
  const query = at('query').map((pair) => pair.map(encodeURIComponent).join('='));
  const body = form.querySelector('.sent')?.value || undefined;
  return {
    method: form.dataset.method,
    url: location.origin + path + (query.length > 0 ? `?${query.join('&')}` : ''),
    headers: [
      ...at('header'),
      ...(token.value ? [['authorization', `Bearer ${token.value}`]] : []),
      ...(body ? [['content-type', 'application/json']] : []),
    ],
    body,
  };
};

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

const curlOf = ({ method, url, headers, body }) => {
  // The command gets a new token each time. A token that somebody typed is in the command itself.
  const isIssued = token.value === issued;
  const option = ([name, value]) =>
    name === 'authorization' && isIssued ? `"${name}: Bearer $(${token.dataset.command})"` : quote(`${name}: ${value}`);
  return [
    `curl -sSi -X ${method} ${quote(url)}`,
    ...headers.map((header) => `-H ${option(header)}`),
    ...(body ? [`--data-raw ${quote(body)}`] : []),
  ].join(' \\\n  ');
};

/** Writes JSON as TypeScript, in which an integer that a number would round is a bigint. */
const literalOf = (json) =>
  json.replaceAll(/"(?:\\.|[^"\\])*"|-?\d[\d.eE+-]*/g, (part) =>
    /^-?\d+$/.test(part) && !Number.isSafeInteger(Number(part)) ? `${part}n` : part,
  );

const typeScriptOf = (form, { body }) => {
  const { id } = form.dataset;
  const parameters = parametersOf(form).map(({ name, type, isList, texts }) => {
    const values = texts.map((text) => (type === 'string' ? JSON.stringify(text) : literalOf(text))).join(', ');
    return `${JSON.stringify(name)}: ${isList ? `[${values}]` : values}`;
  });
  const hasParameters = form.querySelector('[data-in]') !== null;
  const values = [...(hasParameters ? [`{ ${parameters.join(', ')} }`] : []), ...(body ? [literalOf(body)] : [])];
  const { client } = document.querySelector('main').dataset;
  const create = `create-${client}`.replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase());
  return `import { ${create} } from '${client}';

const token = process.env['ACCESS_TOKEN'] ?? '';
const { ${id} } = ${create}({ baseUrl: '${location.origin}', token });
console.log(await ${id}(${values.join(', ')}));`;
};

const showSnippets = (form) => {
  const request = requestOf(form);
  // The browser sends no invalid form, and only path parameters can be invalid.
  const curl = form.matches(':valid') ? curlOf(request) : '# A path parameter must not be empty, . or ..';
  const texts = { curl, TypeScript: typeScriptOf(form, request) };
  for (const snippet of form.querySelectorAll('.snippet')) {
    const code = snippet.querySelector('pre');
    const { language } = code.dataset;
    code.textContent = texts[language];
    snippet.querySelector('button').textContent = `Copy ${language}`;
  }
};

/** Indents JSON without rounding its numbers. Leaves text as it is that is not JSON, or if the browser cannot do it. */
const indented = (text) => {
  try {
    const exact = (_, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value);
    return JSON.stringify(JSON.parse(text, exact), null, 2);
  } catch {
    return text;
  }
};

/** Sends a request. If the token that the service filled in is refused, gets a new one and sends the request again. */
const send = async ({ url, ...request }) => {
  const response = await fetch(url, request);
  if (response.status !== 403 || token.value !== issued) return response;
  const answer = await fetch('/docs/token.json');
  if (!answer.ok) return response;
  issued = token.value = await answer.json();
  const headers = new Headers(request.headers);
  headers.set('authorization', `Bearer ${issued}`);
  return fetch(url, { ...request, headers });
};

/** The latest request of each form. Responses to earlier ones are not shown. */
const latest = new Map();

const submit = async (form) => {
  const status = form.querySelector('output');
  const [answer, headers] = form.querySelectorAll('.answer, .headers');
  const show = (kind, words, body) => {
    status.className = kind;
    status.textContent = words;
    answer.textContent = body;
    answer.hidden = body === '';
    headers.parentElement.hidden = true;
  };
  show('', 'Sending …', '');
  const request = requestOf(form);
  latest.set(form, request);
  try {
    const response = await send(request);
    const text = await response.text();
    if (latest.get(form) !== request) return;
    const documented = form.parentElement.querySelector(`[data-status="${response.status}"]`);
    // What the contract says of this error fits better than what it says of all responses with this status.
    const [, error] = /^\{"error":(\d+)/.exec(text) ?? [];
    const [only, another] = documented?.querySelectorAll(`[data-error="${error}"]`) ?? [];
    const known = documented ? !another && only?.textContent : 'This status is not in the contract.';
    const words = known
      ? `${response.status} ${response.statusText}: ${known}`
      : documented.querySelector('summary').textContent;
    // Headers that only some responses have say what is special about this one, such as that it is a replay.
    const special = (documented?.dataset.special.match(/\S+/g) ?? [])
      .filter((name) => response.headers.has(name))
      .map((name) => `\n${name}: ${response.headers.get(name)}`);
    const body = text === '' ? 'The response has no body.' : indented(text);
    show(`s${String(response.status)[0]}`, words + special.join(''), body);
    headers.textContent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n');
    headers.parentElement.hidden = false;
  } catch (error) {
    const isUp = await fetch('/docs/page.js').catch(() => undefined);
    if (latest.get(form) !== request) return;
    const why = isUp ? error.message : 'the service is down. To start it, run: npm start';
    show('s5', `No response: ${why}`, '');
  }
  for (const each of [answer, status]) each.scrollIntoView({ block: 'nearest' });
};

for (const form of document.forms) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    submit(form);
  });
  form.addEventListener('input', ({ target }) => {
    if (target.matches('select')) form.querySelector('.sent').value = target.value;
  });
  form.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener('click', async ({ target }) => {
    if (!target.matches('.snippet button')) return;
    await navigator.clipboard.writeText(target.parentElement.querySelector('pre').textContent);
    target.textContent = 'Copied';
  });
}

const showAllSnippets = () => {
  for (const form of document.forms) showSnippets(form);
};
document.addEventListener('input', showAllSnippets);
showAllSnippets();

/** Opens the operation to which a link of the index, or the page's address, leads. */
const open = ({ hash }) => {
  const summary = document.querySelector(`summary[id="${hash.slice(1)}"]`);
  if (summary !== null) summary.parentElement.open = true;
};
for (const link of document.querySelectorAll('nav a')) link.addEventListener('click', () => open(link));
open(location);
