internal import GigHive
internal import MediaStore

extension DeleteResult {
    /// How a program ends that made only this deletion.
    var exitCode: ExitCode {
        switch state {
        case .deleted, .gone, .entryRemoved, .planned: .success
        case .declined: .failure
        case .failed: error.map { ErrorCatalogue.exitCode(of: $0.code) } ?? .failure
        }
    }
}
