/* global SwaggerUIBundle */
const { token, contract } = JSON.parse(document.getElementById('data').textContent);

/**
 * Leaves an example unchanged that is given as text. Without this plugin, Swagger UI would parse the text, which would
 * round an id beyond 2^53.
 */
const keepExamplesAsText = () => ({
  afterLoad() {
    const { getSampleSchema } = this.fn;
    this.fn.getSampleSchema = (schema, contentType, config, example) =>
      typeof example === 'string' ? example : getSampleSchema(schema, contentType, config, example);
  },
});

/** Swagger UI has a dark mode, which the class `dark-mode` turns on. */
const dark = matchMedia('(prefers-color-scheme: dark)');
const followSystem = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followSystem);
followSystem();

/** The names that screen readers get for elements to which Swagger UI gives none. */
const names = {
  '#servers': 'Server',
  '.examples-select-element': 'Example',
  '.body-param__text': 'Request body',
};

/** The selectors of long texts, each with the label of the button that shows the text. */
const folded = {
  '.info__description': 'About this API',
  '.opblock-description-wrapper > .opblock-description': 'About this operation',
  '.opblock-section-request-body .opblock-description-wrapper > .renderedMarkdown': 'About the body',
  '.opblock-section-request-body .opblock-description-wrapper > div > .renderedMarkdown': 'About the body',
  '.responses-table:not(.live-responses-table)': 'All statuses',
};

/**
 * Hides an element, or a part of it, by setting the attribute `data-folded` (see page.css), and adds a button that
 * shows it again.
 */
const fold = (element, words) => {
  if (element.dataset.hasButton) return;
  element.dataset.hasButton = 'true';
  const button = document.createElement('button');
  button.className = 'fold';
  button.type = 'button';
  button.textContent = words;
  const show = (shown) => {
    element.toggleAttribute('data-folded', !shown);
    button.setAttribute('aria-expanded', String(shown));
  };
  button.addEventListener('click', () => show(element.hasAttribute('data-folded')));
  show(false);
  // Put the button for the table of statuses below that table: Swagger UI inserts the response directly above the
  // table, so it would separate the table from a button above it.
  if (element.matches('table')) element.after(button);
  else element.before(button);
};

/**
 * The operation whose response the page keeps in view, by scrolling repeatedly: Swagger UI draws a response in steps.
 */
let executed;

const adjust = () => {
  for (const [selector, name] of Object.entries(names))
    for (const element of document.querySelectorAll(selector)) element.setAttribute('aria-label', name);
  // Make code blocks focusable, because the keyboard can scroll only an element that has the focus.
  for (const element of document.querySelectorAll('.curl, .microlight')) element.tabIndex = 0;
  for (const [selector, words] of Object.entries(folded))
    for (const element of document.querySelectorAll(selector)) fold(element, words);
  const response = executed?.querySelector('.live-responses-table');
  if (!executed?.querySelector('.loading-container')) response?.scrollIntoView({ block: 'nearest' });
};

const reference = document.getElementById('reference');
new MutationObserver(adjust).observe(reference, { childList: true, subtree: true });
reference.addEventListener('click', ({ target }) => {
  executed = target.closest('.execute')?.closest('.opblock');
});
reference.addEventListener('input', () => {
  executed = undefined;
});

const ui = SwaggerUIBundle({
  dom_id: '#reference',
  spec: contract,
  plugins: [keepExamplesAsText],
  docExpansion: 'full',
  tryItOutEnabled: true,
  // Do not send the contract to Swagger's online validator.
  validatorUrl: null,
  onComplete: () => ui.preauthorizeApiKey('bearerAuth', token),
});
