internal import GigHive

/// How `mediactl upload` was asked to send, its inputs aside.
struct UploadRequest: Sendable {
    var details: DetailPlan
    var sending: SendingOptions
    /// The part of the inputs that these are.
    var shard: ShardChoice?
    var writesProgressRecords: Bool
    /// Number of paths on the command line.
    var pathCount = 0
    /// Whether the command line has an event link in it, or reads standard input.
    var isUnrepeatable = false

    /// How the run is continued after a failure that ended it.
    func continuation(_ arguments: [String]) -> Continuation {
        Continuation(arguments: arguments, pathCount: pathCount, isPrivate: isUnrepeatable, report: sending.report)
    }
}

extension SendingOptions {
    /// The order as the batch knows it.
    var batchOrder: UploadBatch.Order {
        switch order {
        case .given: .asGiven
        case .largestFirst: .largestFirst
        }
    }
}
