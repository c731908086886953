export const main = async () =>
  console.log('hello', process.argv, process.cwd(), process.env['INIT_CWD'], process.execPath, process.execArgv);
