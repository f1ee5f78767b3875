/// The duration of a recording, from its container.
package enum MediaDuration {
    /// Duration in milliseconds: `mvhd` and `mehd` in MP4 and QuickTime, `Duration` in Matroska and WebM, or the
    /// headers in AVI; nil for other formats, and for missing or impossible values (0, more than a century).
    ///
    /// Usually reads a few kilobytes; data after several thousand boxes is ignored.
    package static func milliseconds(of file: SourceFile) -> Int64? {
        milliseconds(in: BoundedContent(of: file))
    }

    static func milliseconds(in content: BoundedContent) -> Int64? {
        guard let milliseconds = declared(by: content), (1...longest).contains(milliseconds) else { return nil }
        return milliseconds
    }

    /// A century.
    private static let longest: Int64 = 100 * 365 * 86_400_000

    private static func declared(by content: BoundedContent) -> Int64? {
        guard let start = content.bytes(at: 0, count: 12) else { return nil }
        if start.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return MatroskaDuration.milliseconds(in: content) }
        if start.fourCharacters(at: 0) == "RIFF" {
            return start.fourCharacters(at: 8) == "AVI " ? AVIDuration.milliseconds(in: content) : nil
        }
        return MovieHeader.isPossible(after: start) ? MovieDuration.milliseconds(in: content) : nil
    }

    /// Converts units to milliseconds, rounded; nil for an invalid scale or overflow.
    static func milliseconds(_ count: UInt64, per second: UInt64) -> Int64? {
        let product = count.multipliedFullWidth(by: 1000)
        let (low, carry) = product.low.addingReportingOverflow(second / 2)
        let high = product.high + (carry ? 1 : 0)
        guard second > high else { return nil }
        return Int64(exactly: second.dividingFullWidth((high, low)).quotient)
    }
}

/// The duration in the movie header (ISO/IEC 14496-12 section 8.2.2), or, for a fragmented movie, in its extends header
/// (8.8.2).
enum MovieDuration {
    static func milliseconds(in content: BoundedContent) -> Int64? {
        guard let (movie, header) = MovieHeader.find(in: content),
            let start = content.bytes(at: header.start, count: 4), header.count >= 20
        else { return nil }
        let isLong = start[0] == 1
        // Version and flags, creation and modification time, time scale, duration.
        let (scaleOffset, count): (Int64, Int) = isLong ? (20, 8) : (12, 4)
        guard let scale = content.bigEndian(at: header.start + scaleOffset, count: 4),
            let duration = content.bigEndian(at: header.start + scaleOffset + 4, count: count),
            // All ones: unknown.
            duration != (isLong ? .max : 0xFFFF_FFFF)
        else { return nil }
        let known = duration > 0 ? duration : ofFragments(in: movie, of: content)
        return known.flatMap { MediaDuration.milliseconds($0, per: scale) }
    }

    private static func ofFragments(in movie: Span, of content: BoundedContent) -> UInt64? {
        guard let extends = content.box("mvex", in: movie),
            let header = content.box("mehd", in: extends),
            let start = content.bytes(at: header.start, count: 4)
        else { return nil }
        let count = start[0] == 1 ? 8 : 4
        return content.bigEndian(at: header.start + 4, count: count)
    }
}

/// `Duration` in Matroska and WebM (RFC 9559 section 5.1.2.10): a floating-point number in units of `TimestampScale`
/// (5.1.2.9).
enum MatroskaDuration {
    private static let duration: UInt64 = 0x4489
    private static let scale: UInt64 = 0x2A_D7B1

    static func milliseconds(in content: BoundedContent) -> Int64? {
        guard let info = EBMLElements.matroskaInfo(in: content),
            let duration = number(duration, in: info, of: content)
        else { return nil }
        let count: Double
        switch duration.byteCount {
        case 4: count = Double(Float(bitPattern: UInt32(truncatingIfNeeded: duration.bits)))
        case 8: count = Double(bitPattern: duration.bits)
        default: return nil
        }
        // In nanoseconds; the default is a millisecond.
        let scale = number(scale, in: info, of: content)?.bits ?? 1_000_000
        let milliseconds = (count * Double(scale) / 1_000_000).rounded()
        guard milliseconds.isFinite, abs(milliseconds) < 0x1p62 else { return nil }
        return Int64(milliseconds)
    }

    private static func number(
        _ identifier: UInt64,
        in info: Span,
        of content: BoundedContent
    ) -> (bits: UInt64, byteCount: Int)? {
        guard let element = EBMLElements.first(identifier, in: info, of: content), (1...8).contains(element.count)
        else {
            return nil
        }
        let count = Int(element.count)
        return content.bigEndian(at: element.start, count: count).map { ($0, count) }
    }
}

/// The main header of an AVI file (`avih`): frame duration and number of frames; with several RIFF chunks, the number
/// in the extended header (`dmlh`, OpenDML AVI 1.02).
enum AVIDuration {
    static func milliseconds(in content: BoundedContent) -> Int64? {
        // The headers of the form and of a list take up 12 bytes each.
        guard let headers = list("hdrl", in: Span(start: 12, end: content.count), of: content),
            let main = RIFFChunks.first("avih", in: headers, of: content),
            let fields = content.bytes(at: main.start, count: 20),
            let frameMicroseconds = fields.littleEndian(at: 0, count: 4),
            let frames = fields.littleEndian(at: 16, count: 4)
        else { return nil }
        let allFrames = list("odml", in: headers, of: content)
            .flatMap { RIFFChunks.first("dmlh", in: $0, of: content) }
            .flatMap { content.bytes(at: $0.start, count: 4)?.littleEndian(at: 0, count: 4) }
        return MediaDuration.milliseconds(max(frames, allFrames ?? 0) * frameMicroseconds, per: 1_000_000)
    }

    private static func list(_ type: String, in parent: Span, of content: BoundedContent) -> Span? {
        var rest = parent
        while let list = RIFFChunks.first("LIST", in: rest, of: content) {
            if content.bytes(at: list.start, count: 4)?.fourCharacters(at: 0) == type { return list.dropping(4) }
            rest.start = list.end + list.end % 2
        }
        return nil
    }
}

/// The chunks of RIFF, the format of AVI and WebP.
enum RIFFChunks {
    static func first(_ type: String, in parent: Span, of content: BoundedContent) -> Span? {
        var start = parent.start
        while start <= parent.end - 8, let header = content.bytes(at: start, count: 8),
            let size = header.littleEndian(at: 4, count: 4), Int64(size) <= parent.end - start - 8
        {
            let chunk = Span(start: start + 8, end: start + 8 + Int64(size))
            if header.fourCharacters(at: 0) == type { return chunk }
            // Chunks start at even offsets.
            start = chunk.end + chunk.end % 2
        }
        return nil
    }
}
