/// The main header of an AVI file (`avih`): time of a frame and number of frames; of one with several RIFF chunks the number
/// in the extended header (`dmlh`, OpenDML AVI 1.02).
enum AVIDuration {
    static func milliseconds(in content: inout BoundedContent) -> Int64? {
        // The form's own header takes 12 bytes, that of a list too.
        guard let headers = list("hdrl", from: 12, to: content.count, of: &content),
            let main = chunk("avih", from: headers.start, to: headers.end, of: &content),
            let fields = content.bytes(at: main.start, count: 20),
            let frameMicroseconds = fields.littleEndian(at: 0, count: 4),
            let frames = fields.littleEndian(at: 16, count: 4)
        else { return nil }
        let allFrames = list("odml", from: headers.start, to: headers.end, of: &content)
            .flatMap { chunk("dmlh", from: $0.start, to: $0.end, of: &content) }
            .flatMap { content.bytes(at: $0.start, count: 4)?.littleEndian(at: 0, count: 4) }
        return MediaDuration.milliseconds(max(frames, allFrames ?? 0) * frameMicroseconds, per: 1_000_000)
    }

    private typealias Span = ISOBoxes.Span

    private static func list(
        _ type: String,
        from start: Int64,
        to end: Int64,
        of content: inout BoundedContent
    ) -> Span? {
        var start = start
        while let list = chunk("LIST", from: start, to: end, of: &content) {
            if content.bytes(at: list.start, count: 4)?.fourCharacters(at: 0) == type { return list.dropping(4) }
            start = list.end + list.end % 2
        }
        return nil
    }

    /// The first chunk of a type.
    private static func chunk(
        _ type: String,
        from start: Int64,
        to end: Int64,
        of content: inout BoundedContent
    ) -> Span? {
        var start = start
        while start <= end - 8, let header = content.bytes(at: start, count: 8),
            let size = header.littleEndian(at: 4, count: 4), Int64(size) <= end - start - 8
        {
            let content = Span(start: start + 8, end: start + 8 + Int64(size))
            if header.fourCharacters(at: 0) == type { return content }
            // Chunks begin at even places.
            start = content.end + content.end % 2
        }
        return nil
    }
}
