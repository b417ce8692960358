// The plugin's log. The host reads standard error line by line and knows lines of
// this shape: it gives them their level and shows further members as fields.
// Lines of any other shape are shown as they are.

const longest = 12 << 10; // the host cuts lines at 16 KiB

export const log = Object.fromEntries(["debug", "info", "warn", "error"].map((level) => [level, (message, fields = {}) => {
  const line = JSON.stringify({
    "@level": level, "@message": String(message).slice(0, longest), "@timestamp": new Date().toISOString(), ...fields,
  });
  process.stderr.write(line + "\n");
}]));

// lastWords makes a crash tell its reason: the host quotes a line that begins so.
export function lastWords(error) {
  process.stderr.write(`panic: ${error?.stack ?? error}\n`);
  process.exit(2);
}
