package article

import (
	"net/netip"
	"net/url"
	"strings"
)

// remoteAddress checks the address of a remote image as far as its text goes:
// where a name leads is for the one who fetches it to check.
func remoteAddress(ref string) (string, *Problem) {
	u, err := url.Parse(ref)
	if err != nil || u.Hostname() == "" {
		return "", &Problem{
			Rule: "image-address", What: "image address " + quote(withoutSecrets(ref)) + " is not valid",
			Fix: "write https://host/path",
		}
	}
	if u.User != nil {
		return "", &Problem{
			Rule: "image-address", What: "image address " + quote(withoutSecrets(ref)) + " holds a user name or password",
			Fix: "save the picture beside the article and name that file",
		}
	}
	if isPrivateHost(u.Hostname()) {
		return "", &Problem{
			Rule: "image-private", What: "image address " + quote(withoutSecrets(ref)) + " is a private address, which is never read",
			Fix: "save the picture beside the article and name that file",
		}
	}
	return u.String(), nil
}

// withoutSecrets returns an address without user name, query and fragment.
func withoutSecrets(ref string) string {
	if i := strings.IndexAny(ref, "?#"); i >= 0 {
		ref = ref[:i]
	}
	scheme, rest, _ := strings.Cut(ref, "://")
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		rest = "…@" + rest[i+1:]
	}
	return scheme + "://" + rest
}

// reserved are the address blocks that are not public, besides those that
// package netip has words for.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carrier-grade NAT, and cloud metadata (100.100.100.200)
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), // NAT64: leads to any IPv4 address
}

// isPrivateHost reports whether a host is by its text this machine or one of
// its network.
func isPrivateHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		return isPrivateAddr(addr)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch last {
	case "localhost", "local", "internal", "localdomain":
		return true
	}
	// No public domain ends in a number: it is an address in octal, hexadecimal
	// or with parts left out, which some resolvers understand.
	return last == "" || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")
}

func isPrivateAddr(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Zone() != "" {
		return true
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
