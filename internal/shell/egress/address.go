package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// outside are the ranges that are not of the public internet, as IANA's registries of
// special-purpose addresses have them, and those that stand for addresses of IPv4.
var outside = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
	"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32", // Azure's virtual address of the machine's own host
	"2001::/23",        // protocols, with Teredo and ORCHID
	"2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)

var (
	// global is the space that IPv6 addresses of the public internet are from.
	global = netip.MustParsePrefix("2000::/3")
	// translation is the prefix behind which a network has all addresses of IPv4.
	translation = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// isPublic reports whether an address is one of the public internet.
func isPublic(ip netip.Addr) bool {
	ip = behindTranslation(ip)
	if !ip.IsValid() || ip.Zone() != "" || ip.Is6() && !global.Contains(ip) {
		return false
	}
	return !slices.ContainsFunc(outside, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// behindTranslation returns the address of IPv4 that an address stands for, if any.
func behindTranslation(ip netip.Addr) netip.Addr {
	if ip = ip.Unmap(); translation.Contains(ip) {
		b := ip.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return ip
}

var errNotPublic = errors.New("the name leads to an address that is not public, or is this machine's")

// usable returns the addresses that may be dialed: the public ones that are not this
// machine's, where its services listen.
func usable(all []netip.Addr) ([]netip.Addr, error) {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("the addresses of this machine: %w", err)
	}
	var kept []netip.Addr
	for _, ip := range all {
		ip = ip.Unmap()
		if isPublic(ip) && !isOwn(behindTranslation(ip), own) {
			kept = append(kept, ip)
		}
	}
	if len(kept) == 0 {
		return nil, errNotPublic
	}
	return kept, nil
}

func isOwn(ip netip.Addr, own []net.Addr) bool {
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap().WithZone("") == ip
	})
}
