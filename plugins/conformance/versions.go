package conformance

import (
	"errors"
	"strconv"
)

// versions offers the plugin's version among others, and one that does not exist
// alone. To the latter any other version is an answer, and so is the end.
func versions(s *setting) error {
	own := strconv.Itoa(s.found.Manifest.Protocol)
	const none = "9999"
	for _, offer := range []string{own, own + "," + none, none + "," + own, none} {
		l, err := s.launch(offer)
		if l == nil {
			return err
		}
		switch line := l.handshake(); {
		case offer == none && (errors.Is(err, errEnded) || line != nil && line.Version != none):
		case line == nil:
			s.problem("to a host that speaks versions %s: %v", offer, err)
		case line.Version != own:
			s.problem("to a host that speaks versions %s the plugin says that it speaks %s; expected %s, which its manifest names", offer, line.Version, own)
		}
		l.process.Close()
	}
	return nil
}
