// Command gen writes the table that the quantity parser is checked against. Every answer in it comes
// from the upstream package; this program only chooses inputs, and proves with exact arithmetic which of
// them lie above 2^63-1, where upstream caps or wraps without saying so. Same program, same table.
package main

import (
	"bufio"
	"fmt"
	"math/big"
	"math/rand"
	"os"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

var (
	nanoPerUnit = big.NewInt(1_000_000_000)
	maxUnits    = new(big.Int).SetUint64(1<<63 - 1)
	grammar     = regexp.MustCompile(`^([+-]?)([0-9]*)(?:\.([0-9]*))?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+|)$`)
	decimal     = map[string]int{"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
	binary      = map[string]uint{"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
)

// exact is the number that an accepted text means, before any rounding.
func exact(s string) *big.Rat {
	m := grammar.FindStringSubmatch(s)
	if m == nil {
		panic(fmt.Sprintf("upstream accepts %q, the grammar here does not", s))
	}
	digits, ok := new(big.Int).SetString("0"+m[2]+m[3], 10)
	if !ok {
		panic(s)
	}
	exp10 := -len(m[3])
	if bits, ok := binary[m[4]]; ok {
		digits.Lsh(digits, bits)
	} else if e, ok := decimal[m[4]]; ok {
		exp10 += e
	} else {
		e, err := strconv.Atoi(m[4][1:])
		if err != nil || e > 10000 || e < -10000 {
			panic(fmt.Sprintf("exponent of %q is too much for this program", s))
		}
		exp10 += e
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exp10, -exp10))), nil)
	r := new(big.Rat).SetInt(digits)
	if exp10 >= 0 {
		r.Mul(r, new(big.Rat).SetInt(power))
	} else {
		r.Quo(r, new(big.Rat).SetInt(power))
	}
	if m[1] == "-" {
		r.Neg(r)
	}
	return r
}

// awayFromZero rounds r to an integer as upstream documents it.
func awayFromZero(r *big.Rat) *big.Int {
	abs := new(big.Rat).Abs(r)
	q, rest := new(big.Int).QuoRem(abs.Num(), abs.Denom(), new(big.Int))
	if rest.Sign() != 0 {
		q.Add(q, big.NewInt(1))
	}
	if r.Sign() < 0 {
		q.Neg(q)
	}
	return q
}

func escape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] >= 0x7f || s[i] == '\\' {
			fmt.Fprintf(&b, "\\x%02x", s[i])
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// row asks upstream and cross-checks the answer.
func row(s string) string {
	q, err := resource.ParseQuantity(s)
	if err != nil {
		return escape(s) + "\tno\t-\t-\t-\t-"
	}
	number := exact(s)
	if awayFromZero(new(big.Rat).Abs(number)).Cmp(maxUnits) > 0 {
		return escape(s) + "\tyes\tyes\t-\t-\t-"
	}
	nano := awayFromZero(new(big.Rat).Mul(number, new(big.Rat).SetInt(nanoPerUnit)))

	// The number that upstream holds is this one exactly ...
	copied := q.DeepCopy()
	dec := copied.AsDec()
	held := new(big.Rat).SetInt(dec.UnscaledBig())
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(dec.Scale(), -dec.Scale()))), nil))
	if dec.Scale() > 0 {
		held.Quo(held, scale)
	} else {
		held.Mul(held, scale)
	}
	if held.Mul(held, new(big.Rat).SetInt(nanoPerUnit)).Cmp(new(big.Rat).SetInt(nano)) != 0 {
		panic(fmt.Sprintf("%q: upstream holds %s nano, not %s", s, held, nano))
	}
	// ... and Value and MilliValue are what it documents, save for some negative numbers.
	value := awayFromZero(new(big.Rat).SetFrac(nano, nanoPerUnit))
	if q.Value() != value.Int64() && number.Sign() >= 0 {
		panic(fmt.Sprintf("%q: Value() is %d, not %s", s, q.Value(), value))
	}
	milli := awayFromZero(new(big.Rat).SetFrac(nano, big.NewInt(1_000_000)))
	milliText := "-"
	if milli.IsInt64() {
		milliText = strconv.FormatInt(q.MilliValue(), 10)
		if q.MilliValue() != milli.Int64() && number.Sign() >= 0 {
			panic(fmt.Sprintf("%q: MilliValue() is %d, not %s", s, q.MilliValue(), milli))
		}
	}
	return fmt.Sprintf("%s\tyes\tno\t%d\t%s\t%s", escape(s), q.Value(), milliText, nano)
}

func inputs() []string {
	rng := rand.New(rand.NewSource(20260801))
	var all []string
	add := func(s ...string) { all = append(all, s...) }

	add(edges()...)

	signs := []string{"", "+", "-"}
	suffixes := []string{"", "n", "u", "m", "k", "K", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
		"ki", "mi", "ni", "i", "N", "U", "g", "t", "p", "B", "KB", "KiB", "e", "e3", "E3", "e+3", "E-3", "e-9",
		"e-10", "e-12", "e18", "e19", "e400", "e-400", "e0", "e00", "e003", "e--1", "e+-1", "e1.5", "e1k", "kk", "mE", "Kii"}
	numbers := []string{"", ".", "0", "00", "0.", ".0", "1", "01", "1.", ".5", "1.5", "12.50", "999", "1000", "1024",
		"0.1", "0.001", "0.0001", "0.0000000001", "0.1234567891", "1.0000000001", "123456789.987654321",
		"1.2.3", "..1", "1,5", "9223372036854775807"}
	for _, number := range numbers {
		for _, suffix := range suffixes {
			add(number + suffix)
		}
	}
	for _, sign := range signs[1:] {
		for _, number := range numbers {
			for _, suffix := range suffixes[:17] {
				add(sign + number + suffix)
			}
		}
	}

	// Around the largest number, in units of every suffix.
	for _, suffix := range suffixes[:17] {
		unit := exactUnit(suffix)
		if unit == nil {
			continue
		}
		limit := new(big.Rat).Quo(new(big.Rat).SetInt(maxUnits), unit)
		for _, decimals := range []int{0, 1, 3, 9, 12, 20} {
			for _, step := range []int64{-2, -1, 0, 1, 2} {
				ulp := new(big.Rat).SetFrac(big.NewInt(step), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil))
				add(new(big.Rat).Add(limit, ulp).FloatString(decimals) + suffix)
			}
		}
	}

	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('0' + rng.Intn(10))
		}
		return string(b)
	}
	good := append([]string{}, suffixes[:5]...)
	good = append(good, suffixes[6:17]...)
	for i := 0; i < 2500; i++ {
		s := digits(1 + rng.Intn(22))
		if rng.Intn(4) == 0 {
			s = signs[1+rng.Intn(2)] + s
		}
		if rng.Intn(2) == 0 {
			s += "." + digits(rng.Intn(24))
		}
		switch rng.Intn(4) {
		case 0:
			s += fmt.Sprintf("%c%d", "eE"[rng.Intn(2)], rng.Intn(60)-35)
		default:
			s += good[rng.Intn(len(good))]
		}
		add(s)
	}
	for _, n := range []int{17, 18, 19, 20, 38, 39, 40, 100, 400, 1000} {
		for _, suffix := range good {
			add(digits(n)+suffix, "0."+digits(n)+suffix, strings.Repeat("0", n)+"7"+suffix,
				"3."+strings.Repeat("0", n)+suffix, "3."+strings.Repeat("0", n)+"1"+suffix)
		}
		add(digits(n)+"e-"+strconv.Itoa(n), "1"+strings.Repeat("0", n)+"e-"+strconv.Itoa(n+9),
			"1"+strings.Repeat("0", n)+"e-"+strconv.Itoa(n+10), "0."+strings.Repeat("0", n)+"1e"+strconv.Itoa(n))
	}

	// Damage to good texts: one byte replaced, inserted or removed.
	alphabet := "0123456789+-.eEinumkKMGTP \t\n\x00x_,\x7f\x80\xc3\xff\\\"'"
	for i := 0; i < 1500; i++ {
		s := []byte(signs[rng.Intn(3)] + digits(1+rng.Intn(4)) + []string{"", "." + digits(2)}[rng.Intn(2)] + good[rng.Intn(len(good))])
		at := rng.Intn(len(s))
		c := alphabet[rng.Intn(len(alphabet))]
		switch rng.Intn(3) {
		case 0:
			s[at] = c
		case 1:
			s = append(s[:at], append([]byte{c}, s[at:]...)...)
		default:
			s = append(s[:at], s[at+1:]...)
		}
		add(string(s))
	}
	// Any short text over the bytes that matter.
	matter := "019.+-eEimkKG"
	for i := 0; i < 1500; i++ {
		b := make([]byte, 1+rng.Intn(6))
		for j := range b {
			b[j] = matter[rng.Intn(len(matter))]
		}
		add(string(b))
	}
	return all
}

func exactUnit(suffix string) *big.Rat {
	if !grammar.MatchString("1" + suffix) {
		return nil
	}
	return exact("1" + suffix)
}

func edges() []string {
	all := []string{"", "+", "-", ".", "+.", "-.", "+0", "-0", "-0.0", "0.0", "1.", ".5", "-.5", "+.5", "1e", "1E", "1e3",
		"1E3", "1e+3", "1e-3", "1Ki", "1.5Gi", "0x10", "0b1", "0o7", "1_000", "1,000", "1 ", " 1", "1 Gi", "\t1", "1\n",
		"1\x00", "\x001", "１", "１Ｇｉ", "1Gі", "٣", "1½", "∞", "inf", "NaN", "nan", "Infinity", "-inf", "1e400", "1e-400",
		"-1e400", "0e400", "0e-400", "1e9999", "1e-9999", "1n", "0.1n", "0.5n", "0.9n", "1.1n", "-0.1n", "-1.1n",
		"0.0000000001", "1e-9", "1e-10", "9e-10", "-1", "-1.5", "-1.5Ki", "-1.0001Ki", "-0.5Ki", "5m", "-5m", "500m",
		"1.5", "0.5", "+1", "++1", "+-1", "--1", "1+", "1-", "1+1", "1-1", "1k+1", "1e3e3", "1ee3", "1eE3", "1Ee3", "1EE",
		"9223372036854775806", "9223372036854775807", "9223372036854775808", "9223372036854775809",
		"-9223372036854775807", "-9223372036854775808", "-9223372036854775809", "9223372036854775807.0",
		"9223372036854775807.1", "9223372036854775807.0000000001", "9223372036854775806.0000000001", "9223372036854775806.9",
		"9223372036854775807n", "9223372036854775807u", "9223372036854775807m", "9223372036854775808n", "9223372036854775808m",
		"9223372036854775807000m", "9223372036854775807001m", "9223372036854775806001m",
		"9223372036854775807000000000n", "9223372036854775807000000001n", "9223372036854775806000000001n",
		"9.223372036854775807E", "9.223372036854775808E", "9E", "10E", "9e18", "1e19", "10e18", "92e17", "93e17",
		"7Ei", "8Ei", "7.9Ei", "7.99999999999999999999Ei", "7.9999999999999999991326Ei", "8191Pi", "8192Pi", "9007199254740991Ki",
		"9007199254740992Ki", "9007199254740991.9Ki", "9007199254740991.9990234375Ki", "9007199254740991.9990234376Ki",
		"9223372036854775.807k", "9223372036854775.808k", "18446744073709551615", "18446744073709551616",
		"170141183460469231731687303715884105727", "170141183460469231731687303715884105728",
		"340282366920938463463374607431768211455", "340282366920938463463374607431768211456",
		"340282366920938463463374607431768211457n", "1e-9223372036854775809", "1e9223372036854775808",
		"1e99999999999999999999", "1e", "e", "E", "e3", "E3", "e-9", "e-10", "+e-10", ".e-10", ".0e-10", "1.e-10", "Ki", "Mi", "Gi", "Ti",
		"Pi", "Ei", ".Pi", "+Pi", "0Pi", "m", "n", "+m", "-m", "i", "1i", "1ki", "1mi", "1KI", "1kI", "1Kb", "1GB", "1gi", "1g",
		"010", "0010.0100", "1.1.1", "1..1", "..", "1e1.5", "1.5e1", "1.5e-1", "0.1e1", "1E+", "1E-", "1E+1", "1E-1", "1E18", "1E19",
		"0.000000001Ki", "0.0000000001Ki", "0.0000000009765625Ki", "1.00000000000000000000000001Ki", "0.3Gi", "0.1Ki", "1.5Pi",
		"0.00000000000000000001Ei", "1.23456789012345678901234567890Ei", "4Gi", "80Gi", "80G", "100", "100m", "0.3", "300m"}
	for c := 0; c < 256; c++ {
		all = append(all, string([]byte{byte(c)}), "1"+string([]byte{byte(c)}), string([]byte{byte(c)})+"1",
			"1"+string([]byte{byte(c)})+"1", "1"+string([]byte{byte(c)})+"i")
	}
	return all
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FILE")
		os.Exit(2)
	}
	file, err := os.Create(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	out := bufio.NewWriter(file)
	fmt.Fprintln(out, "# k8s.io/apimachinery v0.36.3; see README.md. input accepted capped value milli nano")
	seen := map[string]bool{}
	for _, s := range inputs() {
		if !seen[s] {
			seen[s] = true
			fmt.Fprintln(out, row(s))
		}
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := file.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
