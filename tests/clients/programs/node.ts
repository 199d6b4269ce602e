/** Run a program, whose name and arguments are those of the process, and print its answer. */
const [name, ...values] = process.argv.slice(2);
const program = (await import(`./${name}.js`)) as { run: (...values: string[]) => Promise<object> };
console.log(JSON.stringify(await program.run(...values)));

declare const process: { argv: string[] };
