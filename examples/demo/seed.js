// Some issues, and a week that is partly taken.
const issues = [
  ["Export loses the last row", ["bug", "data"]],
  ["Dark mode for the dashboard", ["feature"]],
  ["Crash on an empty file", ["bug", "urgent"]],
  ["Rename the settings page", ["chore"]],
  ["Rounding differs from the invoice", ["bug"]],
];
for (const [title, labels] of issues) await Issues.create({ title, labels });
await Issues.close(4, "completed");

await Calendar.create({ title: "Stand-up", start: "2026-03-02T09:30", durationMinutes: 30, recurrence: "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;COUNT=5" });
await Calendar.create({ title: "Planning", start: "2026-03-02T10:00", end: "2026-03-02T12:00" });
await Calendar.create({ title: "Lunch with the press", start: "2026-03-02T12:30", end: "2026-03-02T14:00" });
return "seeded";
