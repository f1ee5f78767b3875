internal import MediaStore

/// Reads the entries of an export, a page at a time.
struct ExportReader: Sendable {
    private static let pageSize = 1000
    private static let chunkSize = 256 << 10
    /// Longer than any line that can be read.
    private static let lineLimit = 1 << 20

    private let source: SeekableInput
    private let name: String
    private let scope: @Sendable (String) -> String?
    private var buffer: [UInt8] = []
    private var position = 0
    private var offset: Int64 = 0
    private var lineNumber = 0
    private var isAtEnd = false
    /// Most lines have the same address as the one before.
    private var lastScope: (baseURL: String, host: String?)?

    /// Begins with the first line.
    ///
    /// - Parameters:
    ///   - source: The file.
    ///   - name: The file, for messages.
    ///   - scope: As for `TokenExport.entries`.
    init(_ source: SeekableInput, name: String, scope: @escaping @Sendable (String) -> String?) {
        self.source = source
        self.name = name
        self.scope = scope
    }

    /// The next entries; nil after the last.
    ///
    /// - Throws: `Diagnosis` for a line that is not an entry, and for a file that cannot be read.
    mutating func nextPage() throws(Diagnosis) -> [TokenEntry]? {
        var entries: [TokenEntry] = []
        while entries.count < Self.pageSize, let line = try nextLine() {
            guard !line.isEmpty else { continue }
            do throws(TokenExportError) {
                entries.append(try entry(in: line))
            } catch {
                throw Diagnosis(
                    "invalid_import",
                    "\(name), line \(error.line): \(error.reason)",
                    hint: "nothing was imported; the file must be an unmodified export of mediactl uploads export",
                    exitCode: .usage
                )
            }
        }
        return entries.isEmpty ? nil : entries
    }

    private mutating func entry(in line: ArraySlice<UInt8>) throws(TokenExportError) -> TokenEntry {
        var last = lastScope
        defer { lastScope = last }
        return try TokenExport.entry(in: line, number: lineNumber) { baseURL in
            if last?.baseURL != baseURL { last = (baseURL, scope(baseURL)) }
            return last?.host
        }
    }

    /// The next line without its end; nil after the last.
    private mutating func nextLine() throws(Diagnosis) -> ArraySlice<UInt8>? {
        var searched = position
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { position = end + 1 }
                return line(upTo: end)
            }
            searched = buffer.count
            guard !isAtEnd, buffer.count - position <= Self.lineLimit else {
                guard position < buffer.count else { return nil }
                defer { position = buffer.count }
                return line(upTo: buffer.count)
            }
            let chunk = try nextChunk()
            offset += Int64(chunk.count)
            isAtEnd = chunk.count < Self.chunkSize
            searched -= position
            buffer.removeFirst(position)
            position = 0
            buffer += chunk
        }
    }

    private func nextChunk() throws(Diagnosis) -> [UInt8] {
        do throws(WholeInput.Failure) {
            return try source.read(at: offset, count: Self.chunkSize)
        } catch {
            throw ImportFile.unreadable(name, error)
        }
    }

    private mutating func line(upTo end: Int) -> ArraySlice<UInt8> {
        lineNumber += 1
        let line = buffer[position..<end]
        return line.last == UInt8(ascii: "\r") ? line.dropLast() : line
    }
}
