// SPDX-License-Identifier: MIT
// Checks files with the schema of speedscope: node speedscope-check.js DIRECTORY-OF-PACKAGES FILE...
const fs = require("fs");
const path = require("path");
const [folder, ...files] = process.argv.slice(2);
const Ajv = require(path.join(folder, "node_modules", "ajv"));
const schema = JSON.parse(fs.readFileSync(path.join(folder, "node_modules/speedscope/dist/release/file-format-schema.json")));
const validate = new Ajv({strict: false}).compile(schema);
for (const file of files) {
	if (!validate(JSON.parse(fs.readFileSync(file)))) {
		console.log(file, JSON.stringify(validate.errors));
		process.exitCode = 1;
	}
}
