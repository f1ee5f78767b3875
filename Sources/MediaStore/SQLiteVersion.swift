internal import CSQLiteShims

/// Which SQLite this process runs with. It may be newer than the one it was built with.
public enum SQLiteVersion {
    /// Its version, such as `3.40.1`.
    public static var number: String {
        // A constant of SQLite, which stays loaded.
        String(cString: sqlite_shim_library_version())
    }
}
