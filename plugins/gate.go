package plugins

// Gate decides, before every start of an installed plugin, whether that plugin
// may start as it is. f is the folder as it was just found, possibly with its Err
// set. The gate returns f, with the [trust.Pin] that the files have to meet if it
// demands one, or an error, which refuses the plugin. It is called from several
// goroutines at a time and must not block.
type Gate func(f Candidate) (Candidate, error)

// admit asks the gate, if there is one, about a folder that can be loaded.
func (g Gate) admit(f Candidate) Candidate {
	if g == nil || f.Err != nil {
		return f
	}
	admitted, err := g(f)
	if err != nil {
		f.Err = err
		return f
	}
	return admitted
}
