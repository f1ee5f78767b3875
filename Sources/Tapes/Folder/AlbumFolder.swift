internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaSystem

/// The folder of one album, opened, with what its manifest said then. Changed by one owner of the library's lock.
struct AlbumFolder {
    let root: OpenRoot
    let directory: TargetDirectory
    /// Its name in the root.
    let name: [UInt8]
    var manifest: AlbumManifest

    /// Where it is.
    var path: [UInt8] { root.directory.path(of: name) }

    /// Makes the folder of a new album. One that exists is never taken, not even when it is empty.
    ///
    /// - Throws: `AlbumError`; no folder is left then, unless the process dies.
    static func make(title: String, tapeID: String, in root: OpenRoot, at now: Date) throws(AlbumError) -> AlbumFolder {
        do throws(FileWriteError) {
            let (name, directory) = try makeDirectory(title: title, in: root.directory)
            TapeKillPoint.folderMade.reach()
            let manifest = AlbumManifest(
                id: UUID().uuidString.lowercased(),
                libraryID: root.marker.id,
                tapeID: tapeID.lowercased(),
                title: title,
                createdAt: RFC3339.text(seconds: Int64(now.timeIntervalSince1970.rounded(.down)))
            )
            let folder = AlbumFolder(root: root, directory: directory, name: name, manifest: manifest)
            do throws(FileWriteError) {
                try folder.writeManifest()
                try root.directory.synchronize()
            } catch {
                try? directory.remove(LibraryFile.manifest.name)
                try? root.directory.removeDirectory(name)
                throw error
            }
            TapeKillPoint.manifestWritten.reach()
            return folder
        } catch {
            // Who may not add to the root may still add to the albums that are there.
            let isLimited = error.kind == .denied && (try? root.directory.rights().isReadOnly) == false
            throw isLimited
                ? AlbumError(.insufficient(["write"]), detail: error.detail) : AlbumError(error, needing: .addOnly)
        }
    }

    private static func makeDirectory(
        title: String,
        in root: TargetDirectory
    ) throws(FileWriteError) -> (name: [UInt8], directory: TargetDirectory) {
        var number = 1
        while true {
            let name = AlbumName.folder(title, number: number)
            do throws(FileWriteError) {
                if let directory = try root.makeSubdirectory(name) { return (name, directory) }
            } catch {
                guard error.kind == .exists else { throw error }
            }
            number += 1
        }
    }

    func writeManifest() throws(FileWriteError) {
        try LibraryFile.manifest.write(manifest.text, in: directory)
    }

    /// Refuses to change what a later version has written.
    func checkIsOurs() throws(AlbumError) {
        guard !manifest.isNewer, !root.marker.isNewer else {
            throw AlbumError(.insufficient(["write"]), detail: "a newer version of this program keeps this album")
        }
    }

    /// How targets of links are written and read here.
    var targets: LinkTarget { LinkTarget(folder: path, pictures: reachablePictures) }

    /// The directory of pictures, if going up from here really leads to it: a link on the way to the root would let `..`
    /// lead elsewhere.
    private var reachablePictures: [UInt8]? {
        guard let pictures = root.pictures, let depth = LinkTarget.depth(of: path, below: pictures), depth > 0,
            directory.ancestor(depth, isDirectory: pictures)
        else { return nil }
        return pictures
    }
}
