public import MediaStore

/// Times as PhotoSync servers write and read them (RFC 3339; photosync contract section 0 and traps 2 to 5).
public enum RFC3339 {
    /// Reads a time with zone and 0 to 9 fraction digits.
    ///
    /// - Returns: nil for anything else: no zone, `+0000` without colon, a blank instead of `T`, a day that does not exist.
    public static func time(_ text: some StringProtocol) -> PhotoTime? { nil }

    /// Writes a time in UTC with `Z`; the fraction (6 digits at most, trailing zeros removed) only when there is one.
    ///
    /// - Parameter microseconds: Since 1970; years 0000 to 9999.
    /// - Returns: nil outside those years.
    public static func text(microseconds: Int64) -> String? { nil }
}
