package conformance

import "strconv"

// versions offers the plugin's version among others, and one that does not exist
// alone. To the latter any other version is an answer, and so is the end.
func versions(s *setting) {
	own := strconv.Itoa(s.found.Manifest.Protocol)
	const none = "9999"
	for _, offer := range []string{own, own + "," + none, none + "," + own, none} {
		l := s.launchFor(offer)
		if l == nil {
			return
		}
		line, err := l.handshake(s)
		switch {
		case offer == none && (err != nil && exited(l) || err == nil && line.version != none):
		case err != nil:
			s.problem("to a host that speaks versions %s: %v", offer, err)
		case line.version != own:
			s.problem("to a host that speaks versions %s the plugin says that it speaks %s; expected %s, which its manifest names", offer, line.version, own)
		}
		l.end()
	}
}

// launchFor starts the plugin for a host that speaks these versions.
func (s *setting) launchFor(versions string) *launched {
	_, certificate, err := clientCertificate()
	if err != nil {
		s.problem("a certificate cannot be made: %v", err)
		return nil
	}
	l, err := s.launch(versions, certificate, nil)
	if err != nil {
		s.problem("starting the plugin: %v", err)
		return nil
	}
	return l
}

// exited reports whether the process is gone.
func exited(l *launched) bool {
	select {
	case <-l.process.Done():
		return true
	default:
		return false
	}
}
