# The L2 agent repeats a request that the last switch did not answer for 5 s (Neutron 2026.1, _send_msg_retry). If a switch
# is there again within this time, os-ken takes the request for one that was sent, and the agent waits for good.
sleep 6
