internal import MediaFiles
public import MediaStore
internal import MediaSystem

// Selects a clip from user input.
extension TapeEditor {
    /// The only clip of a tape with this number (`2` or `#2`; the first clip is 1), file name, path, ID, or ID prefix
    /// of at least 4 characters. The name is given as bytes: file names need not be UTF-8.
    ///
    /// - Throws: `TapesError` `.clipNotFound` (with the IDs if several match), `.storeUnusable`.
    public func clip(named name: [UInt8], of tape: TapeRecord) throws(TapesError) -> ClipRecord {
        let clips = try stored(store.clips(of: tape.id))
        let text = String(decoding: name, as: UTF8.self)
        let (number, id) = (Self.number(in: name), text.lowercased())
        let path =
            name.contains(UInt8(ascii: "/")) ? AbsolutePath.of(name, in: CurrentDirectory.path ?? []) : nil
        let matches = clips.filter { clip in
            if clip.position + 1 == number || clip.id == id { return true }
            if id.utf8.count >= 4, clip.id.hasPrefix(id) { return true }
            guard let source = clip.source else { return false }
            return source == path || source.nameOfPath == name
        }
        if matches.count == 1, let clip = matches.first { return clip }
        var detail = ""
        if matches.count > 1 {
            let names = matches.map { "#\($0.position + 1) (\($0.id.prefix(8)))" }
            detail = "\(matches.count) clips match: \(names.joined(separator: ", "))"
        } else if number != nil {
            detail = "the tape has \(clips.count) \(clips.count == 1 ? "clip" : "clips")"
        }
        throw TapesError(.clipNotFound, detail: detail, value: text).with(\.candidates, matches.map(\.id))
    }

    /// Digits, optionally after `#`.
    private static func number(in name: [UInt8]) -> Int? {
        let digits = name.first == UInt8(ascii: "#") ? name.dropFirst() : name[...]
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(String(decoding: digits, as: UTF8.self))
    }
}
