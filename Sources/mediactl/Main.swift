import Dispatch
import Foundation
import MediaCLI

@main
enum Main {
    // Not `async`: the main queue of an asynchronous `main` opens descriptors before the first statement.
    static func main() {
        Program.prepareProcess()
        Task { exit(await Program.run()) }
        dispatchMain()
    }
}
