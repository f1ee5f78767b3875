import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// Album settings: in groups, with dots, and from the environment.
@Suite struct AlbumSettingsTests {
    private func settings(
        _ text: String,
        environment: [String: String] = [:],
        flags: SettingsFlags = SettingsFlags()
    ) async throws -> Settings {
        try await resolve(file: text, flags: flags, environment: environment.merging(["HOME": "/home/a"]) { $1 })
    }

    @Test(arguments: [
        "albums:\n  enabled: false\n  folder:\n    root: /a/b\n  upload: no\nfeatures:\n  deleteAssociatedAlbum: true\n",
        "albums.enabled: false\nalbums.folder.root: /a/b\nalbums.upload: no\nfeatures.deleteAssociatedAlbum: true\n",
        "albums:\n  enabled: false\n  folder.root: /a/b\n  upload: no\nfeatures.deleteAssociatedAlbum: true\nalbums.folder:\n",
    ])
    func groupsAndDotsMeanTheSame(text: String) async throws {
        let settings = try await settings(text)
        #expect(!settings.albumsEnabled.value && !settings.albumsUpload.value && settings.deleteAssociatedAlbum.value)
        #expect(settings.albumsFolderRoot?.value == "/a/b")
        guard case .settingsFile = settings.albumsEnabled.origin else { return #expect(Bool(false)) }
    }

    @Test func theDefaultIsTheFolderLibrary() async throws {
        let settings = try await settings("")
        #expect(settings.albumsEnabled.value && settings.albumsUpload.value && !settings.deleteAssociatedAlbum.value)
        #expect(settings.albumsLibrary == Setting(value: .folder, origin: .builtIn))
        #expect(settings.albumsFolderRoot == nil && settings.albumsPathMap == nil)
        // Only a configured library address selects a library on a server.
        #expect(try await self.settings("server: https://h\n").albumsLibrary.value == .folder)
        #expect(try await self.settings("library_url: https://h\n").albumsLibrary.value == .immich)
    }

    // The source with the highest precedence that sets `albums.library` or `library_url` decides.
    @Test func addressesOnTheCommandLineWin() async throws {
        let text = "albums:\n  library: folder\n"
        #expect(
            try await settings(text, environment: ["MEDIACTL_LIBRARY_URL": "https://h"]).albumsLibrary.value == .immich
        )
        let flags = SettingsFlags([.libraryURL: "https://h", .albumsLibrary: "folder"])
        #expect(try await settings("", flags: flags).albumsLibrary == Setting(value: .folder, origin: .flag))
    }

    @Test func pathsAreRelativeToTheFile() async throws {
        #expect(try await settings("albums.folder.root: ~/Albums\n").albumsFolderRoot?.value == "/home/a/Albums")
        let map = try await settings("albums:\n  path_map:\n    /srv/photos: /mnt/photos\n").albumsPathMap
        #expect(map?.value == [PathPrefix(local: "/srv/photos", server: "/mnt/photos")])
    }

    @Test(arguments: [
        ("albums: 3\n", "albums"), ("albums:\n  enabled: 3\n", "albums.enabled"),
        ("albums:\n  enabled: true\nalbums.enabled: true\n", "albums.enabled"),
        ("albums:\n  library: nas\n", "folder, immich"),
        ("albums:\n  uplaod: true\n", "albums.upload"), ("albums:\n  path_map: [a]\n", "albums.path_map"),
        ("albums:\n  path_map:\n    a: /b\n", "absolute"), ("features:\n  deleteAssociatedAlbums: true\n", "features."),
    ])
    func unknownValuesAreRefused(text: String, part: String) async throws {
        let error = await #expect(throws: SettingsError.self) { try await settings(text) }
        let words = [error?.message, error?.hint].compactMap { $0 }.joined(separator: " ")
        #expect(words.contains(part))
    }

    @Test func relativeRootsOfTheEnvironmentAreRefused() async {
        await #expect(throws: SettingsError.self) {
            try await settings("", environment: ["MEDIACTL_ALBUMS_FOLDER_ROOT": "albums"])
        }
    }
}
