/* global SwaggerUIBundle */
const { token, contract } = JSON.parse(document.getElementById('data').textContent);

/** The viewer would parse an example that is text, and round an id beyond 2^53: it is to show, and send, what stands there. */
const examplesAsTheyAre = () => ({
  afterLoad() {
    const { getSampleSchema } = this.fn;
    this.fn.getSampleSchema = (schema, contentType, config, example) =>
      typeof example === 'string' ? example : getSampleSchema(schema, contentType, config, example);
  },
});

const ui = SwaggerUIBundle({
  dom_id: '#reference',
  spec: contract,
  plugins: [examplesAsTheyAre],
  docExpansion: 'full',
  tryItOutEnabled: true,
  // Nobody else is asked whether the contract is valid.
  validatorUrl: null,
  onComplete: () => ui.preauthorizeApiKey('bearerAuth', token),
});
