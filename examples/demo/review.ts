interface Issue { id: number; title: string; labels: string[] }
interface Slot { start: string; end: string }

// What is broken, and when there is time to look at it: two plugins at once.
const [bugs, week] = await Promise.all([
  Issues.list({ state: "open", labels: ["bug"] }) as Promise<{ items: Issue[] }>,
  Calendar.freeBusy(
    { from: "2026-03-02", to: "2026-03-04" },
    { workingHours: { from: "09:00", to: "17:00" }, slotMinutes: 30 },
  ) as Promise<{ slots: Slot[] }>,
]);

// Urgent ones first, one slot each.
const urgent = (i: Issue) => Number(i.labels.includes("urgent"));
const queue = bugs.items.sort((a, b) => urgent(b) - urgent(a) || a.id - b.id);

const booked = [];
for (const [n, issue] of queue.entries()) {
  const slot = week.slots[n];
  if (!slot) break;
  const event = await Calendar.create({ title: `Review #${issue.id}: ${issue.title}`, ...slot, onlyIfFree: true });
  await Issues.comment(issue.id, `Review booked for ${slot.start} (event ${event.id}).`);
  text(`#${issue.id} ${slot.start} ${issue.title}`);
  booked.push({ issue: issue.id, event: event.id, start: slot.start });
}
return { open: bugs.items.length, booked };
