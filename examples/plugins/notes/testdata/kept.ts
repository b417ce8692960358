// A note that was put is there to be read, and an unknown one is refused in data.
await Notes.put("Tea", "Water at **95** degrees.");
const tea = await Notes.get("Tea");
let code: string | undefined;
try {
  await Notes.get("Coffee");
} catch (e) {
  code = (e as { code?: string }).code;
}
return { title: tea.title, code };

// want: {"title":"Tea","code":"not_found"}
