internal import MediaCore

/// The `bext` chunk of Broadcast Wave (EBU Tech 3285) in RIFF, RF64 and BW64 files (EBU Tech 3306, ITU-R BS.2088).
enum BroadcastWaveDate {
    static func seconds(in content: BoundedContent) -> Int64? {
        var start: Int64 = 12
        var longDataSize: Int64?
        while let header = content.bytes(at: start, count: 8), let shortSize = header.littleEndian(at: 4, count: 4) {
            var size = Int64(shortSize)
            switch header.fourCharacters(at: 0) {
            case "bext":
                // Description, originator and reference take up 320 bytes; `yyyy-mm-dd` and `hh:mm:ss` follow.
                guard size >= 338, let text = content.bytes(at: start + 8 + 320, count: 18) else { return nil }
                // The specification allows several separators: `-`, `_`, `:`, space or dot.
                return CivilTime(text, at: [0, 5, 8, 10, 13, 16])?.localSecondsSince1970
            case "ds64":
                // Size of the file, then of the data, if they exceed 32 bits.
                longDataSize = content.bytes(at: start + 16, count: 8)?.littleEndian(at: 0, count: 8)
                    .flatMap(Int64.init(exactly:))
            case "data" where shortSize == 0xFFFF_FFFF:
                guard let longDataSize else { return nil }
                size = longDataSize
            default:
                break
            }
            // Chunks begin at even offsets.
            guard size <= content.count - start - 8 else { return nil }
            start += 8 + size + size % 2
        }
        return nil
    }
}
