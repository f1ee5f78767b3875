internal import Glibc
internal import MediaFiles

/// What a folder library allows (tapes contract 4.3), as far as can be told without trying.
enum FolderAccess {
    /// Of a root that was recognised.
    static func ofLibrary(_ root: OpenRoot, _ level: AccessLevel) throws(AlbumError) -> AlbumAccess {
        let rights = try AlbumError.needing(level) { () throws(FileWriteError) in try root.directory.rights() }
        let fingerprint = fingerprint(rights, "folder:\(root.marker.id)")
        if rights.isReadOnly {
            return AlbumAccess(.restricted, fingerprint: fingerprint, detail: "the file system is read-only")
        }
        if root.marker.isNewer {
            return AlbumAccess(.restricted, fingerprint: fingerprint, detail: "kept by a newer version of this program")
        }
        guard rights.isSearchable else {
            return AlbumAccess(.denied, fingerprint: fingerprint, detail: "the root may not be entered")
        }
        let missing = missing(rights, level)
        guard missing.isEmpty else {
            let detail = "not allowed in the root: \(missing.joined(separator: ", "))"
            return AlbumAccess(.limited(missing: missing), fingerprint: fingerprint, detail: detail)
        }
        return AlbumAccess(.authorized, fingerprint: fingerprint)
    }

    private static func missing(_ rights: DirectoryRights, _ level: AccessLevel) -> [String] {
        var missing: [String] = []
        if !rights.isWritable { missing.append("write") }
        if level == .readWrite {
            if !rights.isReadable { missing.append("read") }
            if rights.keepsEntriesOfOthers { missing.append("unlink") }
        }
        return missing
    }

    /// Of an absolute path where there is no library yet.
    static func ofPlace(_ path: [UInt8]) -> AlbumAccess {
        var parts = path.split(separator: UInt8(ascii: "/"))[...]
        while true {
            let path = [UInt8(ascii: "/")] + Array(parts.joined(separator: [UInt8(ascii: "/")]))
            do throws(FileWriteError) {
                if let directory = try TargetDirectory.openForAdding(path) { return ofPlace(try directory.rights()) }
            } catch {
                return AlbumAccess(.denied, fingerprint: "\(error.detail);euid=\(geteuid())", detail: error.detail)
            }
            guard parts.popLast() != nil else { return AlbumAccess(.denied, fingerprint: "none") }
        }
    }

    /// Of the directory that the root is to be made in, or that is to become the root.
    private static func ofPlace(_ rights: DirectoryRights) -> AlbumAccess {
        let fingerprint = fingerprint(rights, "none")
        if rights.isReadOnly {
            return AlbumAccess(.restricted, fingerprint: fingerprint, detail: "the file system is read-only")
        }
        guard rights.isSearchable, rights.isWritable else {
            return AlbumAccess(.denied, fingerprint: fingerprint, detail: "the root cannot be made there")
        }
        return AlbumAccess(.notDetermined, fingerprint: fingerprint, detail: "there is no library yet")
    }

    /// Changes when the rights may have.
    private static func fingerprint(_ rights: DirectoryRights, _ library: String) -> String {
        let mode = String(rights.mode, radix: 8)
        let owner = "owner=\(rights.owner):\(rights.group);euid=\(geteuid())"
        return "\(library);mode=\(mode);\(owner);device=\(rights.device)\(rights.isReadOnly ? ";ro" : "")"
    }
}
