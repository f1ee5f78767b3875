internal import MediaCore
package import MediaStore

/// Times as PhotoSync servers read and write them (photosync contract section 0 and traps 2 to 5).
extension PhotoTime {
    /// Reads RFC 3339; nil for anything that `RFC3339.microseconds` does not read.
    package init?(rfc3339 text: String) {
        guard let microseconds = RFC3339.microseconds(text) else { return nil }
        self.init(text: text, microseconds: microseconds)
    }

    /// A time in UTC with `Z`; nil outside the years 0000 to 9999.
    ///
    /// - Parameter microseconds: Since 1970.
    package init?(microseconds: Int64) {
        guard let text = RFC3339.text(microseconds: microseconds) else { return nil }
        self.init(text: text, microseconds: microseconds)
    }

    /// As it is sent to a server: in UTC with `Z`, since the server ignores offsets (trap 4).
    ///
    /// - Throws: `PhotoSyncError.invalidDate` outside the years 0000 to 9999.
    func canonicalText() throws(PhotoSyncError) -> String {
        guard let text = RFC3339.text(microseconds: microseconds) else {
            throw PhotoSyncError(.invalidDate, detail: "outside the years 0000 to 9999", value: self.text)
        }
        return text
    }
}
