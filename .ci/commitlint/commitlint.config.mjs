/** Requires Conventional Commits with a first line of at most 72 characters, so that it fits a line of `git log`. */
export default { extends: ['@commitlint/config-conventional'], rules: { 'header-max-length': [2, 'always', 72] } };
