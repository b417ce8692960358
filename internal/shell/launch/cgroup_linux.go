package launch

// cgroup is the control group of a command. The zero value stands for no group.
type cgroup struct{ dir string }

func newCgroup() cgroup { return cgroup{} }

func (c cgroup) fd() int { return -1 }

func (c cgroup) kill() {}

func (c cgroup) remove() {}
