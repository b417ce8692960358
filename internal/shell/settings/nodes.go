package settings

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// What names a node, and where it is. No part can be an option of ssh, or mean more to it or to
// a shell than a name does.
var (
	nodeName    = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)
	nodeAddress = regexp.MustCompile(`^ssh://(\w[\w.-]{0,63}@)?(\w[\w.-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\])(:[1-9][0-9]{0,4})?$`)
)

// CheckNodeName refuses what cannot name a node, and says what can.
func CheckNodeName(name string) error {
	if !nodeName.MatchString(name) {
		return errors.New("1 to 63 lower-case letters, digits, - and _, with a letter or a digit first")
	}
	return nil
}

// CheckNodeAddress refuses what is not the address of a node, and says what is one.
func CheckNodeAddress(address string) error {
	if !nodeAddress.MatchString(address) {
		return errors.New("an address such as ssh://build@192.0.2.7 or ssh://build@node.example.com:2222")
	}
	return nil
}

// NodeAddress is the address of a node.
func (s *Settings) NodeAddress(name string) (string, error) {
	if address, ok := s.Nodes[name]; ok {
		return address, nil
	}
	if len(s.Nodes) == 0 {
		return "", fmt.Errorf("there is no node %q: plugins.shell.nodes has no node", name)
	}
	return "", fmt.Errorf("there is no node %q: plugins.shell.nodes has %s", name, strings.Join(slices.Sorted(maps.Keys(s.Nodes)), ", "))
}

// checkNodes refuses nodes that ssh could take for something else, and a node that is not there.
func (s *Settings) checkNodes() error {
	for name, address := range s.Nodes {
		if err := CheckNodeName(name); err != nil {
			return fmt.Errorf("nodes: %q cannot name a node: expected %w", name, err)
		}
		if err := CheckNodeAddress(address); err != nil {
			return fmt.Errorf("nodes.%s: %q is not an address: expected %w", name, address, err)
		}
	}
	if s.Node == "" {
		return nil
	}
	if _, err := s.NodeAddress(s.Node); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	return nil
}
