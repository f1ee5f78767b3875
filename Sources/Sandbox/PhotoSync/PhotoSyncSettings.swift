import ArgumentParser

/// How the PhotoSync half of a sandbox behaves.
struct PhotoSyncSettings: Sendable {
    /// Which build of the server this is (photosync contract, "Two builds matter").
    enum Build: String, Sendable, CaseIterable, ExpressibleByArgument {
        /// Uploads belong to their sender.
        case fixed
        /// Uploads belong to nobody and are purged; only one user can ever sign in anew.
        case published
    }

    /// When the stored file of an upload is rewritten to carry the photo's id.
    enum Rewrite: Sendable, Equatable, ExpressibleByArgument {
        case never
        /// So many milliseconds after the reply; 0 is before it goes out.
        case after(milliseconds: Int)

        /// As it is written.
        var defaultValueDescription: String {
            switch self {
            case .never: "off"
            case .after(let milliseconds): String(milliseconds)
            }
        }

        /// Reads `off` or a number.
        init?(argument: String) {
            if argument == "off" {
                self = .never
            } else if let milliseconds = Int(argument), milliseconds >= 0 {
                self = .after(milliseconds: milliseconds)
            } else {
                return nil
            }
        }
    }

    /// Whether the administrator has finished the setup wizard.
    enum Setup: String, Sendable, CaseIterable, ExpressibleByArgument {
        case complete
        case incomplete
    }

    var build = Build.fixed
    var users = PhotoSyncUser.defaults
    var setup = Setup.complete
    var rewrite = Rewrite.after(milliseconds: 0)
    /// The build without PostgreSQL, whose sync calls do nothing.
    var isStub = false
    /// Largest photo in bytes.
    var maxSize = 52_428_800
    /// What stands before `/api` when a reverse proxy serves it below a path; empty or `/photos`.
    var basePath = ""
}
