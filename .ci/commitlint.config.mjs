/** Requires Conventional Commits with a first line of at most 72 characters, so that `git log` shows it on one line. */
export default { extends: ['@commitlint/config-conventional'], rules: { 'header-max-length': [2, 'always', 72] } };
