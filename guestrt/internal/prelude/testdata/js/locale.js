// What only Intl could do.

//// options that the engine would ignore are refused
const seen = []
for (const f of [() => (1234.5).toLocaleString("en-US", { style: "currency", currency: "USD" }), () => new Date(0).toLocaleDateString("en-US", { month: "long" }), () => new Date(0).toLocaleTimeString([], {}),
  () => new Date(0).toLocaleString("en", { timeZone: "UTC" }), () => 5n.toLocaleString("en", {}), () => [1].toLocaleString("en", {}), () => "a".localeCompare("b", undefined, { numeric: true })]) {
  try { seen.push(f()) } catch (e) { seen.push(e.name) }
}
try { "a".localeCompare("b", "en", { numeric: true }) } catch (e) { seen.push(e.message) }
try { (1).toLocaleString("en", { style: "percent" }) } catch (e) { seen.push(e.message) }
return seen
//=> ["TypeError","TypeError","TypeError","TypeError","TypeError","TypeError","TypeError","localeCompare takes no options here, where there is no Intl: compare numbers by a - b, and texts in lower case","toLocaleString takes no options here, where there is no Intl: use toFixed, padStart, getUTC* or toISOString"]

//// without them all is as it was
return [(5).toLocaleString(), (5).toLocaleString("en", undefined), 5n.toLocaleString(), typeof new Date(0).toLocaleDateString("en"), [1, 2].toLocaleString(), ["b", "a"].sort((a, b) => a.localeCompare(b)), ["tEST".localeCompare("test"), "z".localeCompare("a"), "a".localeCompare("a")], "a".localeCompare.name, "a".localeCompare.length, (5).toLocaleString.length, Object.keys(String.prototype), "prototype" in "a".localeCompare]
//=> ["5","5","5","string","1,2",["a","b"],[-1,1,0],"localeCompare",1,0,[],false]
