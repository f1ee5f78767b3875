internal import Glibc
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// The file of an import.
enum ImportFile {
    /// A browser keeps 10 MB for a page at most; larger files are read as exports only.
    private static let webLimit: Int64 = 16 << 20

    /// The content of a file.
    enum Content: Sendable {
        /// An export of `mediactl uploads export`, of any size, all of whose lines are valid.
        case export(ExportReader)
        /// The tokens of the server's upload page.
        case web(WebTokens)
    }

    /// Reads and understands the whole file, without holding more of an export than a page of lines.
    ///
    /// - Parameters:
    ///   - file: A path, or `-` for standard input.
    ///   - standardInput: Its descriptor.
    ///   - isWeb: Whether it must contain the tokens of the upload page; otherwise the format is detected.
    /// - Returns: The content of the file.
    /// - Throws: `Diagnosis`; it never repeats what a line holds.
    static func content(of file: String, standardInput: Int32, isWeb: Bool) throws -> Content {
        let path = RawArguments.bytes(of: file)
        let name = file == "-" ? "standard input" : ErrorCatalogue.quoted(path)
        do {
            let source = try file == "-" ? SeekableInput(copying: standardInput) : SeekableInput(at: path)
            if source.byteCount <= webLimit, let web = WebTokens(try source.read(at: 0, count: Int(source.byteCount))) {
                return .web(web)
            }
            guard !isWeb else {
                throw Diagnosis(
                    "invalid_import",
                    "\(name) does not contain the tokens of an upload page",
                    hint: "copy them in the page's developer console: copy(localStorage.\(WebTokens.storageKey))",
                    exitCode: .usage
                )
            }
            // Every line is understood before the first entry is stored.
            var validation = ExportReader(source, name: name, scope: scope)
            while try validation.nextPage() != nil {}
            return .export(ExportReader(source, name: name, scope: scope))
        } catch let error as WholeInput.Failure {
            throw unreadable(name, error)
        }
    }

    /// The same rules as for the server of a request, so that a token never goes to another host than it came from.
    @Sendable private static func scope(of baseURL: String) -> String? {
        guard let server = try? ServerURL(baseURL), !server.assumedScheme else { return nil }
        return server.scope
    }

    /// The error in words.
    static func unreadable(_ name: String, _ failure: WholeInput.Failure) -> Diagnosis {
        switch failure {
        case .system(let code):
            Diagnosis(
                code == ENOENT ? "file_not_found" : "file_unreadable",
                "cannot read \(name): \(code == ENOENT ? "no such file" : SystemError.words(code))",
                hint: code == ENOENT ? ErrorCatalogue.missingHint : nil,
                exitCode: .usage
            )
        case .tooLarge: Diagnosis("file_too_large", "\(name) is too large", exitCode: .usage)
        case .cancelled: Diagnosis("cancelled", "canceled", exitCode: .interrupt)
        }
    }
}
