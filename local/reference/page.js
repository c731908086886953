/* global SwaggerUIBundle */
const { token, contract } = JSON.parse(document.getElementById('data').textContent);

/** Swagger UI would parse an example given as text and round an id beyond 2^53; this plugin keeps the text as it is. */
const keepExamplesAsText = () => ({
  afterLoad() {
    const { getSampleSchema } = this.fn;
    this.fn.getSampleSchema = (schema, contentType, config, example) =>
      typeof example === 'string' ? example : getSampleSchema(schema, contentType, config, example);
  },
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
