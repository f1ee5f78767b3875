package import Outcomes

extension MediaError {
    /// For a file that must not be a directory.
    package init(_ error: SourceFileError) {
        let isDirectory = error.kind == .isDirectory
        let detail = isDirectory ? error.reason : error.detail
        self.init(isDirectory ? .notRegularFile : error.code, detail: detail, path: error.path)
    }

    /// Reads a file, and converts its error.
    package static func reading<Value>(_ value: @autoclosure () throws(SourceFileError) -> Value) throws(Self) -> Value
    {
        do throws(SourceFileError) { return try value() } catch { throw Self(error) }
    }
}
