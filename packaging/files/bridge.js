#!/usr/bin/env node
"use strict";
// Runs the binary of the package for this platform.
const { spawn } = require("node:child_process");

const wanted = `mcp-python-bridge-${process.platform}-${process.arch}`;
let binary;
try {
  binary = require.resolve(`${wanted}/bin/bridge${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(`bridge: the package ${wanted} is not installed, or there is none for this platform\nbridge: hint: install again, and do not omit optional dependencies`);
  process.exit(1);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  // At a terminal, Ctrl-C reaches the binary as well.
  process.on(signal, () => signal === "SIGINT" && process.stdin.isTTY || child.kill(signal));
}
child.on("error", (error) => {
  console.error(`bridge: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
