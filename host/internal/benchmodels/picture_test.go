package benchmodels

import (
	"fmt"
	"math"
	"strings"
)

// The colours of the picture, by way of working.
const (
	colourDirect = "#cf222e"
	colourRelay  = "#9a6700"
	colourOurs   = "#0969da"
	colourText   = "#1f2328"
	colourLine   = "#d0d7de"
)

// draw makes the picture: tokens of a task in each domain, and tokens of the definitions
// by the number of tools.
func (r results) draw() string {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 330" font-family="system-ui, sans-serif" font-size="12" role="img" aria-labelledby="title">` + "\n")
	b.WriteString(`  <title id="title">Tokens of a task, and tokens of the definitions in each request: direct calls, a server with search and call, and Quoin.</title>` + "\n")
	b.WriteString(`  <rect width="900" height="330" rx="10" fill="#ffffff"/>` + "\n")
	r.drawTasks(&b)
	r.drawPrompts(&b)
	x := 40.0
	for _, l := range []struct{ colour, name string }{{colourDirect, "direct calls"}, {colourRelay, "a server with search and call"}, {colourOurs, "Quoin: one program"}} {
		fmt.Fprintf(&b, `  <rect x="%.0f" y="304" width="12" height="12" fill="%s"/><text x="%.0f" y="314" fill="%s">%s</text>`+"\n", x, l.colour, x+18, colourText, l.name)
		x += 60 + 7*float64(len(l.name))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawTasks draws bars: the mean tokens of a task, read and written.
func (r results) drawTasks(b *strings.Builder) {
	const left, bottom, height = 40.0, 260.0, 190.0
	fmt.Fprintf(b, `  <text x="%.0f" y="34" font-size="14" font-weight="600" fill="%s">Tokens of a task (mean)</text>`+"\n", left, colourText)
	most := 0.0
	for _, d := range r.domains {
		for _, way := range []string{wayDirect, wayRelay, wayAnswer} {
			most = max(most, r.mean(d.name, way).total)
		}
	}
	for i, d := range r.domains {
		x := left + 130*float64(i)
		for j, bar := range []struct{ way, colour string }{{wayDirect, colourDirect}, {wayRelay, colourRelay}, {wayAnswer, colourOurs}} {
			m := r.mean(d.name, bar.way)
			h := math.Round(height * m.total / most)
			at := x + 36*float64(j)
			fmt.Fprintf(b, `  <rect x="%.0f" y="%.0f" width="30" height="%.0f" fill="%s"/>`, at, bottom-h, h, bar.colour)
			fmt.Fprintf(b, `<text x="%.0f" y="%.0f" font-size="10" text-anchor="middle" fill="%s">%s</text>`+"\n", at+15, bottom-h-4, colourText, grouped(int(math.Round(m.total))))
		}
		calls, _ := callsOf(d)
		fmt.Fprintf(b, `  <text x="%.0f" y="%.0f" text-anchor="middle" fill="%s">%s</text>`, x+51, bottom+16, colourText, d.name)
		fmt.Fprintf(b, `<text x="%.0f" y="%.0f" font-size="10" text-anchor="middle" fill="%s">%.1f calls</text>`+"\n", x+51, bottom+29, colourText, calls)
	}
}

// drawPrompts draws lines on logarithmic scales.
func (r results) drawPrompts(b *strings.Builder) {
	const left, right, bottom, height = 540.0, 860.0, 260.0, 190.0
	const lowest, highest = 2.0, 6.5 // powers of ten
	x := func(tools int) float64 { return left + (right-left)*(math.Log10(float64(tools))-1)/3 }
	y := func(tokens int) float64 { return bottom - height*(math.Log10(float64(tokens))-lowest)/(highest-lowest) }
	fmt.Fprintf(b, `  <text x="%.0f" y="34" font-size="14" font-weight="600" fill="%s">Tokens of the definitions, by number of tools</text>`+"\n", left, colourText)
	for power := 2; power <= 6; power++ {
		at := y(int(math.Pow10(power)))
		fmt.Fprintf(b, `  <path d="M%.0f %.1fH%.0f" stroke="%s"/><text x="%.0f" y="%.1f" font-size="10" text-anchor="end" fill="%s">%s</text>`+"\n",
			left, at, right, colourLine, left-6, at+3, colourText, grouped(int(math.Pow10(power))))
	}
	for _, line := range []struct {
		colour string
		of     func(prompt) int
	}{{colourDirect, func(p prompt) int { return p.direct }}, {colourRelay, func(p prompt) int { return p.relay }}, {colourOurs, func(p prompt) int { return p.ours }}} {
		var points []string
		for _, p := range r.prompts {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(p.tools), y(line.of(p))))
		}
		fmt.Fprintf(b, `  <polyline points="%s" fill="none" stroke="%s" stroke-width="2.5"/>`+"\n", strings.Join(points, " "), line.colour)
	}
	for _, p := range r.prompts {
		fmt.Fprintf(b, `  <text x="%.1f" y="%.0f" font-size="10" text-anchor="middle" fill="%s">%s</text>`+"\n", x(p.tools), bottom+16, colourText, grouped(p.tools))
	}
}
