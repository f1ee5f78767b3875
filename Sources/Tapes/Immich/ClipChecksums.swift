internal import MediaFiles
internal import MediaStore

/// SHA-1 of the originals of clips: from the clip while length and time of the file are those it was made with, else by
/// reading the file (rule R14, trap 14).
struct ClipChecksums {
    let store: LibraryStore
    private var made: [ClipRecord] = []
    /// Of files that were read for another clip.
    private var known: [[UInt8]: [UInt8]] = [:]
    /// Where a file system did not answer: its other files are not waited for.
    private var silent: Set<[UInt8]> = []

    init(store: LibraryStore) {
        self.store = store
    }

    /// The checksum of a clip's file, 20 bytes.
    mutating func sha1(of clip: ClipRecord) async throws(ClipOriginal.Trouble) -> [UInt8] {
        guard let source = clip.source else { throw .away("no file is known") }
        let directory = Array(source[..<(source.lastIndex(of: UInt8(ascii: "/")) ?? 0)])
        guard !silent.contains(directory) else { throw .silent }
        let original: ClipOriginal
        do {
            original = try await ClipOriginal.open(source)
        } catch {
            if case .silent = error { silent.insert(directory) }
            throw error
        }
        let status = original.file.status
        let isFresh = (clip.size, clip.modifiedNanoseconds) == (status.size, status.modificationNanoseconds)
        if isFresh, let text = clip.sha1, let sha1 = HexText.bytes(text), sha1.count == 20 { return sha1 }
        let sha1: [UInt8]
        if let read = known[source] {
            sha1 = read
        } else {
            sha1 = try await original.sha1()
        }
        known[source] = sha1
        var clip = clip
        if !isFresh { clip.sha256 = nil }
        clip.size = status.size
        clip.modifiedNanoseconds = status.modificationNanoseconds
        clip.sha1 = HexText.text(sha1)
        made.append(clip)
        return sha1
    }

    /// Keeps what was made, all at once. It saves reading the files again, no more: a store that fails says so elsewhere.
    mutating func keep() {
        guard !made.isEmpty else { return }
        try? store.keepChecksums(of: made)
        made = []
    }
}

/// Bytes as hexadecimal text.
enum HexText {
    /// Lower case.
    static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// nil for what is no such text.
    static func bytes(_ text: String) -> [UInt8]? {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, digits.count % 2 == 0 else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
