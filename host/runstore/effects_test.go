package runstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quoinhq/quoin/host/codemode"
)

const effectRun = "run_0123456789abcdef0123456789abcdef"

func effectHeader() *Effects {
	now := time.Now().UTC().Truncate(time.Second)
	return &Effects{Session: codemode.Session{SessionID: "s"}, Created: now, Expires: now.Add(time.Hour)}
}

func effect(n int, state EffectState) Effect {
	return Effect{Number: n, CallID: "c", Tool: "t", State: state, Inverse: "i", Input: json.RawMessage(`{"n":1}`)}
}

// stores are the ways to keep effects.
func stores(t *testing.T) map[string]EffectStore {
	d, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]EffectStore{"memory": &Memory{}, "directory": d}
}

func open_(t *testing.T, s EffectStore, header *Effects) EffectJournal {
	t.Helper()
	j, err := s.OpenEffects(context.Background(), effectRun, header)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return j
}

// TestEffects: a journal has one writer, keeps the newest state of each effect, and is
// there for the next writer.
func TestEffects(t *testing.T) {
	ctx := context.Background()
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			if _, err := s.OpenEffects(ctx, effectRun, nil); !errors.Is(err, ErrNotFound) {
				t.Errorf("a journal that is not there: %v", err)
			}
			if _, err := s.Effects(ctx, effectRun); !errors.Is(err, ErrNotFound) {
				t.Errorf("a journal that is not there: %v", err)
			}
			header := effectHeader()
			j := open_(t, s, header)
			if _, err := s.OpenEffects(ctx, effectRun, header); !errors.Is(err, ErrClaimed) {
				t.Errorf("a second writer: %v", err)
			}
			for _, e := range []Effect{effect(2, EffectUnknown), effect(1, EffectDone), effect(2, EffectDone), effect(1, EffectReverted)} {
				if err := j.Put(e.Number == 1, e); err != nil {
					t.Fatal(err)
				}
			}
			want := header.clone()
			want.RunID, want.Effects = effectRun, []Effect{effect(1, EffectReverted), effect(2, EffectDone)}
			got, err := s.Effects(ctx, effectRun)
			if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Effects{})); d != "" || err != nil {
				t.Errorf("%v, read (-want +got):\n%s", err, d)
			}
			j.Close()
			j.Close()
			again := open_(t, s, nil)
			if d := cmp.Diff(want, again.Effects(), cmpopts.IgnoreUnexported(Effects{})); d != "" {
				t.Errorf("opened again (-want +got):\n%s", d)
			}
			list, err := s.ListEffects(ctx)
			if err != nil || len(list) != 1 || list[0].RunID != effectRun || list[0].Effects != nil {
				t.Errorf("listed %+v, %v", list, err)
			}
		})
	}
}

// TestEffectsExpire: a journal with its time over is not read, is swept once it has no writer,
// and gives way to a new one for a run that continues.
func TestEffectsExpire(t *testing.T) {
	ctx := context.Background()
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			old := effectHeader()
			old.Expires = old.Created.Add(-time.Hour)
			j := open_(t, s, old)
			if _, err := s.Effects(ctx, effectRun); !errors.Is(err, ErrExpired) {
				t.Errorf("read: %v", err)
			}
			if list, err := s.ListEffects(ctx); err != nil || len(list) != 0 {
				t.Errorf("listed %v, %v", list, err)
			}
			sweep := func() {
				if _, err := s.(Store).Sweep(ctx, time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			sweep()
			if _, err := s.Effects(ctx, effectRun); !errors.Is(err, ErrExpired) {
				t.Errorf("swept under its writer: %v", err)
			}
			j.Close()
			if _, err := s.OpenEffects(ctx, effectRun, nil); !errors.Is(err, ErrExpired) {
				t.Errorf("opened: %v", err)
			}
			open_(t, s, effectHeader()).Close()
			if _, err := s.Effects(ctx, effectRun); err != nil {
				t.Errorf("a new one in its place: %v", err)
			}
			open := open_(t, s, nil)
			open.Close()
			sweep()
			if _, err := s.Effects(ctx, effectRun); err != nil {
				t.Errorf("swept before its time: %v", err)
			}
		})
	}
}

// TestEffectsAreBounded: what does not fit is kept without its inverse, or counted.
func TestEffectsAreBounded(t *testing.T) {
	j := effectHeader()
	large := effect(1, EffectDone)
	large.Input = json.RawMessage(`"` + strings.Repeat("x", MaxInverseInput) + `"`)
	large.Reason = strings.Repeat("y", 10_000)
	if got := j.apply([]Effect{large})[0]; got.State != EffectFinal || got.Inverse != "" || got.Input != nil || !strings.Contains(got.Reason, "65538 bytes") {
		t.Errorf("a large inverse: %+v", got)
	}
	full := json.RawMessage(`"` + strings.Repeat("x", MaxInverseInput-2) + `"`)
	for n := 2; n <= MaxEffects+5; n++ {
		e := effect(n, EffectDone)
		e.Input = full
		j.apply([]Effect{effect(n, EffectUnknown)})
		j.apply([]Effect{e})
	}
	if len(j.Effects) != MaxEffects || j.Omitted != 5 {
		t.Errorf("%d effects, %d omitted", len(j.Effects), j.Omitted)
	}
	if n := j.inputs(); n > MaxEffectBytes {
		t.Errorf("%d bytes of inverses", n)
	}
	if last := j.Effects[MaxEffects-1]; last.State != EffectFinal || !strings.Contains(last.Reason, "4194304 bytes") {
		t.Errorf("the last one: %+v", last)
	}
}

// effectsLeg is the file of a journal with its sizes after each write.
func effectsLeg(t *testing.T) (d *Dir, name string, sizes []int64) {
	d, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	j := open_(t, d, effectHeader())
	name = filepath.Join(d.path, effectRun+effectsExt)
	note := func() {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, info.Size())
	}
	note()
	for n := 1; n <= 3; n++ {
		if err := j.Put(true, effect(n, EffectDone)); err != nil {
			t.Fatal(err)
		}
		note()
	}
	j.Close()
	return d, name, sizes
}

// TestTornEffects: what was being appended when the process died counts as not written,
// and the next writer continues from there.
func TestTornEffects(t *testing.T) {
	d, name, sizes := effectsLeg(t)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for size := sizes[0]; size <= sizes[3]; size++ {
		for _, tail := range [][]byte{nil, make([]byte, 100)} {
			torn := append(bytes.Clone(whole[:size]), tail...)
			want := 0
			for want < 3 && bytes.HasPrefix(torn, whole[:sizes[want+1]]) { // zeros may be what is missing
				want++
			}
			if err := os.WriteFile(name, torn, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := d.Effects(context.Background(), effectRun)
			if len(tail) > 0 && errors.Is(err, ErrCorrupt) { // zeros in the middle of a frame
				continue
			}
			if err != nil || len(got.Effects) != want {
				t.Fatalf("the first %d bytes: %v, %d effects, want %d", size, err, len(got.Effects), want)
			}
		}
	}
	if err := os.WriteFile(name, whole[:sizes[2]+10], 0o600); err != nil {
		t.Fatal(err)
	}
	j := open_(t, d, nil)
	if err := j.Put(true, effect(9, EffectDone)); err != nil {
		t.Fatal(err)
	}
	got, err := d.Effects(context.Background(), effectRun)
	if err != nil || len(got.Effects) != 3 || got.Effects[2].Number != 9 {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestDamagedEffects: each byte changed, a frame left out, moved or of another key is
// refused, and so is the file of another run.
func TestDamagedEffects(t *testing.T) {
	d, name, sizes := effectsLeg(t)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Effects(context.Background(), effectRun); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%s: %v", what, err)
		}
		if _, err := d.OpenEffects(context.Background(), effectRun, effectHeader()); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%s, opened: %v", what, err)
		}
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 0x20
		refused("a byte changed", b)
	}
	part := func(i int) []byte { return whole[sizes[i-1]:sizes[i]] }
	head := whole[:sizes[0]]
	refused("a frame left out", bytes.Join([][]byte{head, part(2), part(3)}, nil))
	refused("frames in another order", bytes.Join([][]byte{head, part(2), part(1)}, nil))
	refused("a frame twice", bytes.Join([][]byte{head, part(1), part(1)}, nil))
	refused("no header", nil)
	_, other, _ := effectsLeg(t)
	b, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	refused("another key", b)
	moved := filepath.Join(d.path, "run_other"+effectsExt)
	if err := os.WriteFile(moved, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Effects(context.Background(), "run_other"); !errors.Is(err, ErrCorrupt) {
		t.Errorf("the file of another run: %v", err)
	}
}

// TestAFailedSyncOfEffects is not forgotten: the next write makes a new file.
func TestAFailedSyncOfEffects(t *testing.T) {
	d, name, _ := effectsLeg(t)
	j := open_(t, d, nil)
	before := inode(t, name)
	failSyncs(t, 1)
	if err := j.Put(true, effect(4, EffectDone)); !errors.Is(err, errDisk) {
		t.Fatalf("got %v", err)
	}
	if err := j.Put(true, effect(5, EffectDone)); err != nil {
		t.Fatal(err)
	}
	if os.SameFile(before, inode(t, name)) {
		t.Error("a file whose sync has failed was appended to")
	}
	got, err := d.Effects(context.Background(), effectRun)
	if err != nil || len(got.Effects) != 5 {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestEffectsMakeRoom: the oldest journals go.
func TestEffectsMakeRoom(t *testing.T) {
	m := &Memory{}
	for i := range MaxEffectRuns + 3 {
		header := effectHeader()
		header.Created = header.Created.Add(time.Duration(i) * time.Second)
		j, err := m.OpenEffects(context.Background(), fmt.Sprint("run_", i), header)
		if err != nil {
			t.Fatal(err)
		}
		j.Close()
	}
	list, err := m.ListEffects(context.Background())
	if err != nil || len(list) != MaxEffectRuns {
		t.Errorf("%d journals, %v", len(list), err)
	}
}

// FuzzEffects: a file that this key has not sealed is never read, whatever it holds, and
// one that it has sealed never panics.
func FuzzEffects(f *testing.F) {
	key := []byte("0123456789abcdef0123456789abcdef")
	c := effectsChain(key)
	b := []byte(effectsMagic)
	for _, fr := range []frame{{kind: kindEffects, header: []byte(`{"runId":"run"}`)}, {kind: kindEffect, header: []byte(`{"number":1,"state":"done"}`)}} {
		var err error
		if b, err = c.add(b, fr); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(b, []byte(`{"number":-1}`), byte(kindEffect))
	f.Add(b[:40], []byte(`{}`), byte(kindEffects))
	f.Add([]byte(effectsMagic), []byte(`null`), byte('R'))
	f.Fuzz(func(t *testing.T, file, header []byte, kind byte) {
		if j, _, _, err := decodeEffects(key, file); err == nil && !bytes.HasPrefix(b, file[:min(len(file), len(b))]) && j.RunID != "run" {
			t.Errorf("read %+v of a file that was not sealed", j)
		}
		sealed := effectsChain(key)
		own, err := sealed.add([]byte(effectsMagic), frame{kind: kindEffects, header: []byte(`{"runId":"run"}`)})
		if err == nil {
			own, err = sealed.add(own, frame{kind: fileKind(kind), header: header})
		}
		if err != nil {
			t.Skip("too large to be written")
		}
		if j, _, _, err := decodeEffects(key, own); err == nil && len(j.Effects) > 1 {
			t.Errorf("one frame became %+v", j)
		} else if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("got %v", err)
		}
	})
}
