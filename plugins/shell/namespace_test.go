package main

import (
	"testing"
)

// TestPrograms runs programs as a model writes them.
func TestPrograms(t *testing.T) {
	h := start(t, gatewayFull())
	for code, want := range map[string]string{
		"const r = await Shell.run('echo hello; exit 3'); return [r.status, r.exitCode, r.output]":                                                                                                                    `["completed",3,"hello\n"]`,
		"return (await Shell.run('echo $GREETING', {env: {GREETING: 'hi'}})).output":                                                                                                                                  `"hi\n"`,
		"const word = \"it's $HOME\"; return (await Shell.sh`printf %s ${word}`).output":                                                                                                                              `"it's $HOME"`,
		"const p = await Shell.start('read line; echo got $line'); await p.write('tea\\n'); const r = await p.wait(); return r.output":                                                                                `"got tea\n"`,
		"const p = await Shell.start('echo a; read line; echo b'); if (!p.output) await p.poll({waitMs: 60000}); await p.submit(''); const r = await p.wait(); return [r.output, r.exitCode, (await p.log()).output]": `["a\nb\n",0,"a\nb\n"]`,
		"const p = await Shell.start('sleep 600'); const r = await p.kill(); return [p.status, r.status, r.signal, (await p.refresh()).status]":                                                                       `["running","killed","SIGTERM","killed"]`,
		"const p = await Shell.start('cat'); const q = await Shell.get(p.sessionId); await q.write('x', {eof: true}); return (await q.wait()).output":                                                                 `"x"`,
		"const all = []; for (let i = 0; i < 20; i++) all.push((await (await Shell.start('printf ' + i)).wait()).output); return all.join()":                                                                          `"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19"`,
		"const p = await Shell.start('exit 7'); await p.wait(); await p.clear(); try { await p.poll() } catch (e) { return e.code }":                                                                                  `"unknown_session"`,
		"const p = await Shell.start('sleep 600'); const q = (await Shell.list()).processes.find(q => q.sessionId === p.sessionId); return (await q.kill()).status":                                                   `"killed"`,
		"const p = await Shell.start('sleep 600'); await p.remove(); return (await Shell.list()).processes.some(q => q.sessionId === p.sessionId)":                                                                    `false`,
		"try { await Shell.sh`echo \"${1}\"` } catch (e) { return e.code }":                                                                                                                                           `"invalid_template"`,
	} {
		if r := h.Cell(code); string(r.Value) != want {
			t.Errorf("%s\n got %s %v\nwant %s", code, r.Value, r.Error, want)
		}
	}
}
