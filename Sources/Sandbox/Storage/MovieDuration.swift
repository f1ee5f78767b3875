import Foundation

/// Reads the duration of an MP4 or QuickTime file from its `mvhd` box (ISO/IEC 14496-12, 8.2.2).
enum MovieDuration {
    /// Whole seconds, or nil when the file is something else.
    static func seconds(ofFileAt path: String) -> Int? {
        guard let file = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? file.close() }
        guard let end = try? file.seekToEnd(),
            let movie = box("moov", in: file, from: 0, to: end),
            let header = box("mvhd", in: file, from: movie.lowerBound, to: movie.upperBound)
        else { return nil }
        let isVersion1 = bytes(file, at: header.lowerBound, count: 1)?.first == 1
        guard let fields = bytes(file, at: header.lowerBound, count: isVersion1 ? 32 : 20) else { return nil }
        let timescale = integer(fields[isVersion1 ? 20..<24 : 12..<16])
        let duration = integer(fields[isVersion1 ? 24..<32 : 16..<20])
        guard timescale > 0, duration < 1 << 48 else { return nil }
        return Int((Double(duration) / Double(timescale)).rounded())
    }

    /// The contents of the first box of a type among siblings.
    private static func box(
        _ type: String,
        in file: FileHandle,
        from start: UInt64,
        to end: UInt64
    ) -> Range<UInt64>? {
        var position = start
        while position + 8 <= end, let header = bytes(file, at: position, count: 8) {
            var size = integer(header[0..<4])
            var headerSize: UInt64 = 8
            if size == 1, let large = bytes(file, at: position + 8, count: 8) {
                size = integer(large[0..<8])
                headerSize = 16
            } else if size == 0 {
                size = end - position
            }
            guard size >= headerSize, size <= end - position else { return nil }
            if header[4..<8].elementsEqual(type.utf8) { return position + headerSize..<position + size }
            position += size
        }
        return nil
    }

    private static func bytes(_ file: FileHandle, at offset: UInt64, count: Int) -> [UInt8]? {
        guard (try? file.seek(toOffset: offset)) != nil, let data = try? file.read(upToCount: count),
            data.count == count
        else { return nil }
        return Array(data)
    }

    /// A big-endian number.
    private static func integer(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
