internal import CCurl

/// A date in a header field (RFC 9110 section 5.6.7).
package enum HTTPDate {
    /// Reads any of the three forms into seconds since 1970; nil if the value is not a date or is before 1970.
    package static func parse(_ value: String) -> Int64? {
        let text = value.trimmingBlanks()
        // A date begins with the name of a day; curl_getdate accepts much more than HTTP allows.
        guard let first = text.utf8.first, (0x41...0x5a).contains(first & 0xdf) else { return nil }
        let date = curl_getdate(text, nil)
        return date >= 0 ? Int64(date) : nil
    }
}
