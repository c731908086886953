/** Renders the contract as the page at /docs. Its script, page.js, sends the requests. */
import { STATUS_CODES } from 'node:http';
import { Marked } from 'marked';
import { type Contract, entriesOf } from '../document.ts';
import { type Body, type Described, examplesOf, joined, operationsOf, type Schema, toJson } from './contract.ts';

class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Makes HTML of a template. Escapes each value that is not HTML, and leaves out undefined and false. */
const html = (parts: TemplateStringsArray, ...values: unknown[]): Html =>
  new Html(String.raw({ raw: parts }, ...values.map(htmlOf)));

const htmlOf = (value: unknown): string => {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(htmlOf).join('');
  if (value === undefined || value === false) return '';
  return String(value).replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
};

const marked = new Marked({ renderer: { html: ({ text }) => htmlOf(text) } });

const markdown = (text = ''): Html => new Html(marked.parse(text, { async: false }));

type Operation = ReturnType<typeof operationsOf>[number];

/** What the page shows besides the contract: a token, a command that prints a new one, and the npm package of a client. */
type Shown = { token: string; tokenCommand: string; client: string | undefined };

export const render = (contract: Contract, { token, tokenCommand, client }: Shown): string => {
  const operations = operationsOf(contract);
  const { title, version, description } = contract.info;
  const { text } = html`<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title} API</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="/docs/page.css">
  <script type="module" src="/docs/page.js"></script>
</head>
<body>
  <header>
    <strong>This page is on your machine only.</strong> A deployment serves the operations below and nothing else.
    <a href="/openapi.json">openapi.json</a>
  </header>
  ${operations.length > 1 && html`<nav aria-label="Operations"><ul>${operations.map(link)}</ul></nav>`}
  <main data-client="${client}">
    <h1>${title} <small>${version}</small></h1>
    ${markdown(description)}
    <label class="token">Access token <small>filled in, and replaced after it has expired</small>
      <input value="${token}" data-command="${tokenCommand}" autocomplete="off" spellcheck="false">
    </label>
    ${operations.map((each) => section(each, operations.length === 1, ['curl', ...(client ? ['TypeScript'] : [])]))}
  </main>
</body>
</html>
`;
  return text;
};

const link = ({ operationId, method, path, summary }: Operation): Html =>
  html`<li><a href="#${operationId}"><b>${method}</b> ${path} <small>${summary}</small></a></li>`;

const section = (operation: Operation, isOpen: boolean, languages: string[]): Html => {
  const { operationId, method, path, summary, description, deprecated, parameters, requestBody, responses } = operation;
  const note = deprecated && ' (deprecated)';
  const body =
    requestBody &&
    html`
<h3>Body</h3>${markdown(requestBody.description)}${schemaHtml(jsonOf(requestBody.content).schema)}`;
  return html`
<details class="operation"${isOpen && html` open`}>
  <summary id="${operationId}"><h2><b>${method}</b> ${path} <small>${summary}${note}</small></h2></summary>
  <form data-id="${operationId}" data-method="${method}" data-path="${path}" autocomplete="off">
    <div>
      <h3>Request</h3>
      ${parameters.map(parameterInput)}
      ${requestBody && bodyInput(requestBody)}
      <button>Send</button> <small>or Ctrl+Enter</small>
    </div>
    <div>
      <h3>Response</h3>
      <output>Nothing is sent yet.</output>
      <pre class="answer" hidden></pre>
      <details hidden><summary>Headers</summary><pre class="headers"></pre></details>
      ${languages.map(snippet)}
    </div>
  </form>
  ${markdown(description)}
  ${body}
  <h3>Statuses</h3>
  ${entriesOf(responses).map(response)}
</details>`;
};

const snippet = (language: string): Html => html`
<div class="snippet">
  <details><summary>${language}</summary><pre data-language="${language}"></pre></details>
  <button type="button">Copy ${language}</button>
</div>`;

const parameterInput = (parameter: Operation['parameters'][number]): Html => {
  const { name, in: place, required, description, schema = {} } = parameter;
  const { type, items } = joined(schema);
  // Without an attribute `name`: a field named `dataset` would hide that property of its form.
  const attributes = html`data-name="${name}" data-in="${place}" data-type="${items ? joined(items).type : type}"`;
  const value = [examplesOf(parameter)[0]?.value ?? []].flat().join('\n');
  // If the value were empty, . or .., the path would be that of another route.
  const limits = place === 'path' && html` required pattern="(?![.]{1,2}$).*" title="not . or .."`;
  const input = html`<input ${attributes} value="${value}"${limits}>`;
  return html`
<label>${name} <small>${typeOf(schema)}, in ${place}${required && ', required'}${items && ', one a line'}</small>
  ${items ? html`<textarea ${attributes} rows="2">${value}</textarea>` : input}
</label>
${schemaHtml({ ...schema, ...(description && { description }) })}`;
};

const bodyInput = ({ content }: Body): Html => {
  // Examples are text here, so that page.js need not parse a number, which it would round.
  const examples = examplesOf(jsonOf(content)).map(({ name, value }) => ({ name, text: toJson(value, 2) }));
  const options = examples.map(({ name, text }) => html`<option value="${text}">${name}</option>`);
  // For browsers without the CSS property field-sizing, which ignores `rows`.
  const rows = examples[0]?.text.split('\n').length;
  return html`
${options.length > 1 && html`<label>Example <select>${options}</select></label>`}
<label>Body <textarea class="sent" rows="${rows}" spellcheck="false">${examples[0]?.text}</textarea></label>`;
};

const response = ([status, { description = '', headers = {}, content }]: [string, Operation['responses'][string]]) => {
  const each = Object.entries(headers);
  const properties = Object.fromEntries(
    each.map(([name, { description = '', schema }]) => [name, { ...schema, description }]),
  );
  const required = each.flatMap(([name, header]) => (header.required ? [name] : []));
  const words = new Html(marked.parseInline(description, { async: false }));
  const special = each.flatMap(([name, header]) => (header.required ? [] : [name]));
  return html`
<details class="status" data-status="${status}" data-special="${special.join(' ')}">
  <summary><b class="s${status[0]}">${status} ${STATUS_CODES[status]}</b>: ${words}</summary>
  ${examplesOf(jsonOf(content)).map(
    ({ summary, value }) => html`<p data-error="${Object(value).error}">${summary}</p><pre>${toJson(value, 2)}</pre>`,
  )}
  ${content && html`<h4>Body</h4>${schemaHtml(jsonOf(content).schema)}`}
  ${each.length > 0 && html`<h4>Headers</h4>${schemaHtml({ properties, required })}`}
</details>`;
};

/** All bodies are JSON: the contract's compiler refuses others. */
const jsonOf = (content: Body['content']): Described => content?.['application/json'] ?? {};

/** Describes the values of a schema in a line: their type, and the keywords that limit them. */
const typeOf = (schema: Schema): string => {
  const { $ref, type = [], format, items, ...others } = joined(schema);
  const limits = Object.entries(others).filter(([keyword]) => !shownElsewhere.includes(keyword));
  const words = limits.map(([keyword, value]) => `${keyword} ${toJson(value)}`);
  return [$ref?.split('/').at(-1), [type].flat().join(' or '), format, ...words, items && `of ${typeOf(items)}`]
    .filter(Boolean)
    .join(', ');
};

const shownElsewhere = 'title description example examples properties required anyOf oneOf'.split(' ');

/** Describes the fields and alternatives of a schema, or of the items of a list. */
const schemaHtml = (schema: Schema = {}): Html => {
  const { description, properties = {}, required = [], items, anyOf, oneOf } = joined(schema);
  const fields = Object.entries(properties).map(
    ([name, field]) => html`
<dt><code>${name}</code> <small>${typeOf(field)}${required.includes(name) && ', required'}</small></dt>
<dd>${schemaHtml(field)}</dd>`,
  );
  const alternatives = (anyOf ?? oneOf ?? []).map((each) => html`<li>${schemaHtml(each)}</li>`);
  return html`${markdown(description)}
${fields.length > 0 && html`<dl>${fields}</dl>`}
${alternatives.length > 0 && html`<p>One of:</p><ul>${alternatives}</ul>`}
${items && schemaHtml(items)}`;
};
